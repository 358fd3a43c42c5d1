import { MEASUREMENTS } from '../../records/kinds.ts'
import type { MeasurementKind } from '../../records/measurements/measurement.ts'
import { type Ask, isJson, type Json } from './entry.ts'

type Row = Record<string, string>

/** What a row becomes: one measurement for each that has a value in it. */
export type RowMap = (row: Row) => Ask[]

const kinds = new Map(MEASUREMENTS.map((kind) => [kind.path, kind]))

const COLUMN = /\{([^{}]+)\}/g

/**
 * A mapping file: a list of measurements that a row may hold. `{Column}` stands for the value of a column; a property
 * whose column is empty is left out, and a measurement without any of its values is none. `when` says which rows hold it.
 *
 *     [{ "when": { "loinc": "29463-7" }, "kind": "bodyweight", "timestamp": "{time}", "weight": "{value}", "weightUnit": "kg" }]
 *
 * @throws Error for what is no such list
 */
export function rowMapOf(text: string): RowMap {
  let maps: unknown
  try {
    maps = JSON.parse(text)
  } catch {
    throw new Error('The mapping file is not valid JSON.')
  }
  if (!Array.isArray(maps) || maps.length === 0 || !maps.every(isJson))
    throw new Error('The mapping file is not a list of measurements.')
  for (const { kind } of maps as Json[])
    if (!kinds.has(String(kind))) throw new Error(`The mapping file names an unknown kind: ${kind}.`)
  return (row) => (maps as Json[]).flatMap((map) => mapped(map, row))
}

function mapped({ when = {}, kind: name, ...fields }: Json, row: Row): Ask[] {
  if (Object.entries(when as Json).some(([column, value]) => row[column] !== String(value))) return []
  const kind = kinds.get(String(name)) as MeasurementKind
  const filled = Object.entries(fields).flatMap(([field, value]) => {
    if (typeof value !== 'string') return [[field, value]]
    const columns = [...value.matchAll(COLUMN)].map(([, column = '']) => row[column])
    if (columns.some((one) => one === undefined || one === '')) return []
    return [
      [
        field,
        typed(
          kind,
          field,
          value.replaceAll(COLUMN, (_, column: string) => row[column] ?? ''),
        ),
      ],
    ]
  })
  const measurement: Json = Object.fromEntries(filled)
  const values = Object.entries(fields).filter(
    ([field, value]) => isNumeric(kind, field) && isTemplate(value),
  )
  return values.some(([field]) => field in measurement)
    ? [{ measurement: { kind: name, ...measurement } }]
    : []
}

const isTemplate = (value: unknown): boolean => typeof value === 'string' && value.match(COLUMN) !== null

/** Rows whose header names the properties; without a column `kind`, those that are there tell it. */
export const rowsByHeader: RowMap = (row) => {
  const { kind: told, ...rest } = Object.fromEntries(Object.entries(row).filter(([, value]) => value !== ''))
  const kind = told === undefined ? kindOf(Object.keys(rest)) : kinds.get(told)
  const fields = Object.entries(rest).map(([field, value]) => [
    field,
    kind ? typed(kind, field, value) : value,
  ])
  return [{ measurement: { kind: kind?.path ?? told, ...Object.fromEntries(fields) } }]
}

/** The kind of which most is there. */
function kindOf(names: readonly string[]): MeasurementKind | undefined {
  const possible = MEASUREMENTS.map((kind) => {
    const measured = Object.keys(kind.body.properties).filter((name) => isNumeric(kind, name))
    return { kind, known: measured.filter((name) => names.includes(name)).length, of: measured.length }
  })
  const [first] = possible.filter(({ known }) => known > 0).sort((a, b) => b.known - a.known || a.of - b.of)
  return first?.kind
}

const typesOf = (kind: MeasurementKind, field: string): string[] =>
  [
    kind.body.properties[field]?.type,
    ...(kind.body.properties[field]?.anyOf ?? []).map((one: Json) => one.type),
  ]
    .flat()
    .filter((type) => type !== undefined)

const isNumeric = (kind: MeasurementKind, field: string): boolean =>
  typesOf(kind, field).some((type) => type === 'number' || type === 'integer' || type === 'array')

/** A text as the type that the property has, a decimal comma included; what does not convert stays a text, and is refused. */
function typed(kind: MeasurementKind, field: string, text: string): unknown {
  const types = typesOf(kind, field)
  if (types.includes('array')) return text.split(/[\s|;]+/).map(numberOf)
  if (types.includes('number') || types.includes('integer')) return numberOf(text)
  if (types.includes('boolean') && /^(true|false)$/i.test(text)) return text.toLowerCase() === 'true'
  return text
}

const numberOf = (text: string): unknown =>
  /^[+-]?\d+([.,]\d+)?(e[+-]?\d+)?$/i.test(text) ? Number(text.replace(',', '.')) : text
