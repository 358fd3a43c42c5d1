import { MEASUREMENTS } from '../../records/kinds.ts'
import type { MeasurementKind } from '../../records/measurements/measurement.ts'
import { jsonIn } from '../../schemas/json-file.ts'
import { type Ask, isJson, type Json } from './entry.ts'

type Row = Record<string, string>

/** What a row becomes: one measurement for each that has a value in it. */
type RowMap = (row: Row) => Ask[]

/** The same of a table, by the names of its columns. @throws Error for a table in which it finds no measurements */
export type TableMap = (columns: readonly string[]) => RowMap

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
export function tableMapOf(file: Uint8Array): TableMap {
  let maps: unknown
  try {
    maps = jsonIn(file)
  } catch (error) {
    throw new Error(`The mapping file is not valid JSON: ${(error as Error).message}`)
  }
  if (!Array.isArray(maps) || maps.length === 0 || !maps.every(isJson))
    throw new Error('The mapping file is not a list of measurements.')
  require(maps.flatMap((map, i) => faultsOf(map, `${i}`)))
  return (columns) => {
    require(maps.flatMap((map, i) => unknownColumns(map, columns, `${i}`)))
    return (row) => maps.flatMap((map) => mapped(map, row))
  }
}

function require(faults: readonly string[]): void {
  if (faults.length > 0) throw new Error(`The mapping file has faults:\n  - ${faults.join('\n  - ')}`)
}

function faultsOf({ when = {}, kind: name, ...fields }: Json, path: string): string[] {
  const kind = kinds.get(String(name))
  const names = Object.keys(fields)
  return [
    ...(isJson(when) ? [] : [`${path}.when must be an object: what a column has to say`]),
    ...(kind
      ? names
          .filter((field) => !Object.hasOwn(kind.body.properties, field))
          .map((field) => `${path}.${field} is no property of ${name}`)
      : [`${path}.kind must be one of ${[...kinds.keys()].join(', ')}: ${name} is an unknown kind`]),
    ...(kind && !valuesOf(kind, fields).length ? [`${path} takes no value from a column`] : []),
  ]
}

/** Without its columns a measurement would be left out of every row, and nobody would be told. */
const unknownColumns = ({ when = {}, ...fields }: Json, columns: readonly string[], path: string): string[] =>
  [
    ...Object.keys(when as Json).map((column) => ({ at: 'when', column })),
    ...Object.entries(fields).flatMap(([at, value]) => columnsIn(value).map((column) => ({ at, column }))),
  ].flatMap(({ at, column }) =>
    columns.includes(column) ? [] : [`${path}.${at}: the file has no column ${column}`],
  )

const columnsIn = (value: unknown): string[] =>
  typeof value === 'string' ? [...value.matchAll(COLUMN)].map(([, column = '']) => column) : []

/** The properties without which a row holds no such measurement. */
const valuesOf = (kind: MeasurementKind, fields: Json): string[] =>
  Object.keys(fields).filter((field) => isNumeric(kind, field) && columnsIn(fields[field]).length > 0)

function mapped({ when = {}, kind: name, ...fields }: Json, row: Row): Ask[] {
  if (Object.entries(when as Json).some(([column, value]) => row[column] !== String(value))) return []
  const kind = kinds.get(String(name)) as MeasurementKind
  const measurement: Json = Object.fromEntries(
    Object.entries(fields).flatMap(([field, value]) => {
      if (typeof value !== 'string') return [[field, value]]
      if (columnsIn(value).some((column) => row[column] === '')) return []
      const text = value.replaceAll(COLUMN, (_, column: string) => row[column] ?? '')
      return [[field, typed(kind, field, text)]]
    }),
  )
  return valuesOf(kind, fields).some((field) => field in measurement)
    ? [{ measurement: { kind: name, ...measurement } }]
    : []
}

/** A table whose header names the properties; without a column `kind`, those that a row has a value of tell it. */
export const tableByHeader: TableMap = (columns) => {
  if (!columns.includes('kind') && !kindOf(columns))
    throw new Error(
      'The header of the file names nothing that is measured, such as systolic or weight: the first line has to name ' +
        'the properties, or a mapping file (--map) says what the columns mean.',
    )
  return (row) => {
    const { kind: told, ...rest } = Object.fromEntries(
      Object.entries(row).filter(([, value]) => value !== ''),
    )
    const kind = told === undefined ? kindOf(Object.keys(rest)) : kinds.get(told)
    const fields = Object.entries(rest).map(([field, value]) => [
      field,
      kind ? typed(kind, field, value) : value,
    ])
    return [{ measurement: { kind: kind?.path ?? told, ...Object.fromEntries(fields) } }]
  }
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
