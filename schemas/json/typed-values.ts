import { parseIsoTime } from '../time/iso-time.ts'

type Fields = Readonly<Record<string, unknown>>
/** Conditions by name, as Parse's notation of a value or an operation names it. */
export type JsonForms = Readonly<Record<string, (value: Fields) => boolean>>

const isNonEmptyText = (value: unknown): value is string => typeof value === 'string' && value !== ''
const isWithin = (value: unknown, most: number): boolean =>
  typeof value === 'number' && Math.abs(value) <= most
const isDate = (iso: unknown): boolean => typeof iso === 'string' && parseIsoTime(iso) !== undefined
const isCoordinatePair = (pair: unknown): boolean =>
  Array.isArray(pair) && pair.length === 2 && isWithin(pair[0], 90) && isWithin(pair[1], 180)

/** Typed values of Parse; the class family has no files. */
export const TYPED_VALUES: JsonForms = {
  Date: ({ iso }) => isDate(iso),
  Pointer: ({ className, objectId }) => isNonEmptyText(className) && isNonEmptyText(objectId),
  Object: ({ className }) => isNonEmptyText(className),
  Relation: ({ className }) => isNonEmptyText(className),
  Bytes: ({ base64 }) => isNonEmptyText(base64),
  GeoPoint: ({ latitude, longitude }) => isWithin(latitude, 90) && isWithin(longitude, 180),
  Polygon: ({ coordinates }) =>
    Array.isArray(coordinates) && coordinates.length > 2 && coordinates.every(isCoordinatePair),
}

/** @param name `__type` or `__op` of the value, as sent */
export const matchesForm = (forms: JsonForms, name: unknown, value: Fields): boolean =>
  typeof name === 'string' && Object.hasOwn(forms, name) && forms[name]?.(value) === true
