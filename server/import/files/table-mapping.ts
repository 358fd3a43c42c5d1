import { MEASUREMENT_KINDS } from '../../../records/kinds.ts'
import type { MeasurementKind } from '../../../records/measurements/measurement.ts'
import { parseJsonFile } from '../../../schemas/json/json-file.ts'
import { type ImportRequest, isJsonObject, type JsonObject } from '../import-entry.ts'

type TableRow = Record<string, string>

/** Maps a row to one request per measurement in it. */
type MapRow = (row: TableRow) => ImportRequest[]

/**
 * Maps a table by its column names.
 * @throws Error for a table without measurements
 */
export type MapTable = (columns: readonly string[]) => MapRow

const KINDS_BY_PATH = new Map(MEASUREMENT_KINDS.map((kind) => [kind.path, kind]))

const COLUMN_PLACEHOLDER = /\{([^{}]+)\}/g

/**
 * Parses a mapping file: a list of measurements that a row may contain. `{Column}` is replaced by the value
 * of a column. A property with an empty column is omitted, and a measurement without values is skipped.
 * `when` selects rows.
 *
 *     [{ "when": { "loinc": "29463-7" }, "kind": "bodyweight", "timestamp": "{time}", "weight": "{value}", "weightUnit": "kg" }]
 *
 * @throws Error for an invalid mapping file
 */
export function parseTableMapping(file: Uint8Array): MapTable {
  let maps: unknown
  try {
    maps = parseJsonFile(file)
  } catch (error) {
    throw new Error(`The mapping file is not valid JSON: ${(error as Error).message}`)
  }
  if (!Array.isArray(maps) || maps.length === 0 || !maps.every(isJsonObject))
    throw new Error('The mapping file must be a list of measurements.')
  requireNoFaults(maps.flatMap((map, i) => findMappingFaults(map, `${i}`)))
  return (columns) => {
    requireNoFaults(maps.flatMap((map, i) => findUnknownColumns(map, columns, `${i}`)))
    return (row) => maps.flatMap((map) => mapRowWith(map, row))
  }
}

function requireNoFaults(faults: readonly string[]): void {
  if (faults.length > 0) throw new Error(`The mapping file is invalid:\n  - ${faults.join('\n  - ')}`)
}

function findMappingFaults({ when = {}, kind: name, ...fields }: JsonObject, path: string): string[] {
  const kind = KINDS_BY_PATH.get(String(name))
  const names = Object.keys(fields)
  return [
    ...(isJsonObject(when) ? [] : [`${path}.when must be an object with the required text of a column`]),
    ...(kind
      ? names
          .filter((field) => !Object.hasOwn(kind.body.properties, field))
          .map((field) => `${path}.${field} is not a property of ${name}`)
      : [`${path}.kind must be one of ${[...KINDS_BY_PATH.keys()].join(', ')}: ${name} is an unknown kind`]),
    ...(kind && !valueFieldsOf(kind, fields).length
      ? [`${path} must contain the name of a column in braces`]
      : []),
  ]
}

/** Finds unknown columns: without them a measurement would silently be missing from every row. */
const findUnknownColumns = (
  { when = {}, ...fields }: JsonObject,
  columns: readonly string[],
  path: string,
): string[] =>
  [
    ...Object.keys(when as JsonObject).map((column) => ({ at: 'when', column })),
    ...Object.entries(fields).flatMap(([at, value]) =>
      placeholdersIn(value).map((column) => ({ at, column })),
    ),
  ].flatMap(({ at, column }) =>
    columns.includes(column) ? [] : [`${path}.${at}: the file has no column ${column}`],
  )

const placeholdersIn = (value: unknown): string[] =>
  typeof value === 'string' ? [...value.matchAll(COLUMN_PLACEHOLDER)].map(([, column = '']) => column) : []

/** Properties of which a row must have a value to contain this measurement. */
const valueFieldsOf = (kind: MeasurementKind, fields: JsonObject): string[] =>
  Object.keys(fields).filter((field) => isNumeric(kind, field) && placeholdersIn(fields[field]).length > 0)

function mapRowWith({ when = {}, kind: name, ...fields }: JsonObject, row: TableRow): ImportRequest[] {
  if (Object.entries(when as JsonObject).some(([column, value]) => row[column] !== String(value))) return []
  const kind = KINDS_BY_PATH.get(String(name)) as MeasurementKind
  const measurement: JsonObject = Object.fromEntries(
    Object.entries(fields).flatMap(([field, value]) => {
      if (typeof value !== 'string') return [[field, value]]
      if (placeholdersIn(value).some((column) => row[column] === '')) return []
      const text = value.replaceAll(COLUMN_PLACEHOLDER, (_, column: string) => row[column] ?? '')
      return [[field, convertCell(kind, field, text)]]
    }),
  )
  return valueFieldsOf(kind, fields).some((field) => field in measurement)
    ? [{ measurement: { kind: name, ...measurement } }]
    : []
}

/**
 * Maps a table whose header contains property names. Without a column `kind`, the properties with values
 * determine the kind.
 */
export const mapTableByHeader: MapTable = (columns) => {
  if (!columns.includes('kind') && !guessKind(columns))
    throw new Error(
      'The header of the file has no measured property, such as systolic or weight. Name the properties in the first line, ' +
        'or describe the columns in a mapping file (--map).',
    )
  return (row) => {
    const { kind: kindName, ...rest } = Object.fromEntries(
      Object.entries(row).filter(([, value]) => value !== ''),
    )
    const kind = kindName === undefined ? guessKind(Object.keys(rest)) : KINDS_BY_PATH.get(kindName)
    const fields = Object.entries(rest).map(([field, value]) => [
      field,
      kind ? convertCell(kind, field, value) : value,
    ])
    return [{ measurement: { kind: kind?.path ?? kindName, ...Object.fromEntries(fields) } }]
  }
}

/** Returns the kind that matches most columns. */
function guessKind(names: readonly string[]): MeasurementKind | undefined {
  const possible = MEASUREMENT_KINDS.map((kind) => {
    const numericNames = Object.keys(kind.body.properties).filter((name) => isNumeric(kind, name))
    return {
      kind,
      known: numericNames.filter((name) => names.includes(name)).length,
      of: numericNames.length,
    }
  })
  const [first] = possible.filter(({ known }) => known > 0).sort((a, b) => b.known - a.known || a.of - b.of)
  return first?.kind
}

const fieldTypesOf = (kind: MeasurementKind, field: string): string[] =>
  [
    kind.body.properties[field]?.type,
    ...(kind.body.properties[field]?.anyOf ?? []).map((one: JsonObject) => one.type),
  ]
    .flat()
    .filter((type) => type !== undefined)

const isNumeric = (kind: MeasurementKind, field: string): boolean =>
  fieldTypesOf(kind, field).some((type) => type === 'number' || type === 'integer' || type === 'array')

/**
 * Converts text to the type of the property, with decimal commas. Other text stays unchanged and is refused
 * by the service.
 */
function convertCell(kind: MeasurementKind, field: string, text: string): unknown {
  const types = fieldTypesOf(kind, field)
  if (types.includes('array')) return text.split(/[\s|;]+/).map(parseNumber)
  if (types.includes('number') || types.includes('integer')) return parseNumber(text)
  if (types.includes('boolean') && /^(true|false)$/i.test(text)) return text.toLowerCase() === 'true'
  return text
}

const parseNumber = (text: string): unknown =>
  /^[+-]?\d+([.,]\d+)?(e[+-]?\d+)?$/i.test(text) ? Number(text.replace(',', '.')) : text
