import type { TProperties } from '@sinclair/typebox'
import { fromPathNames, markedFieldNames } from '../../../schemas/forms/fields.ts'
import { memoizeByObject } from '../../../schemas/forms/memoize.ts'
import { withUtcOffset } from '../../../schemas/time/iso-time.ts'

/** A request body; null means absent. */
export type RecordBody = Record<string, unknown>

/** Removes properties that are null or undefined. */
export const withoutNulls = <T extends object>(values: T): { [K in keyof T]: Exclude<T[K], null> } =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null && value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], null>
  }

export const defaultsOf = memoizeByObject(
  (fields: TProperties): RecordBody =>
    Object.fromEntries(
      Object.entries(fields).flatMap(([name, { default: value }]) =>
        value === undefined ? [] : [[name, value]],
      ),
    ),
)

const withUtcOffsetIn = (fields: TProperties, values: RecordBody): RecordBody =>
  'utcOffset' in fields ? withUtcOffset(values) : values

/** Stored form of a body of the path family: its values without nulls, and defaults for missing fields. */
export const withDefaults = (fields: TProperties, body: object): RecordBody => ({
  ...defaultsOf(fields),
  ...withUtcOffsetIn(fields, withoutNulls(fromPathNames(fields, body))),
})

/** The initial status of a new record, if the kind has one. */
export const initialStatusOf = memoizeByObject((fields: TProperties) =>
  Object.fromEntries(markedFieldNames(fields, 'status').map((name) => [name, 'ACTIVE'])),
)
