import type { ClientSession } from 'mongodb'
import { ServiceError } from '../../schemas/errors.ts'
import { DAY_MS } from '../../schemas/time/durations.ts'
import type { DefinitionLookup, Quota, Values } from '../ehr-records/kind.ts'
import { documentCollection } from '../store/documents/database.ts'
import { evictType, markTypeUsed, resolveType, type TypeFamily } from '../types/type-registry.ts'

interface QuotaKind {
  collection: string
  family: TypeFamily
  /** The field that contains the type's name. */
  typeField: 'dataType' | 'eventType'
}

/** A new record of a type in an EHR, on a UTC day. */
interface NewValue {
  id: string
  ehrId: string
  type: string
  /** The version of the type that has checked it. */
  version: number
  day: number
}

/**
 * Limits the records of a type to its number per day, counted in each EHR by the day that they are about.
 * Every writer takes the lock of the EHR, so nobody adds a record between count and insert.
 */
export function createDailyQuota(kind: QuotaKind): Quota {
  const { typeField } = kind
  const toNewValue = (values: Values): NewValue => ({
    id: String(values.id),
    ehrId: String(values.ehrId),
    type: String(values[typeField]),
    version: Number(values.typeVersion),
    day: dayNumberOf(new Date(String(values.timestamp))),
  })
  const refuse: Quota['refuse'] = async (context, records, session) => {
    if (records.length === 0) return []
    const newValues = records.map(toNewValue)
    const limits = new Map<string, number | ServiceError>()
    for (const one of newValues)
      if (!limits.has(versionKeyOf(one)))
        limits.set(versionKeyOf(one), await findDailyLimit(context, kind, one))
    const deviceFaults = await markDeviceTypes(context, records)
    const counts = await countExisting(context, kind, newValues, session)
    return newValues.map((one, i) => {
      const deviceFault = deviceFaults.get(deviceTypeOf(records[i] as Values))
      if (deviceFault) return deviceFault
      const key = quotaKeyOf(one)
      const count = (counts.get(key) ?? 0) + 1
      const limit = limits.get(versionKeyOf(one)) ?? 0
      if (typeof limit !== 'number') return limit
      if (count > limit) return tooManyError(one.type, limit)
      counts.set(key, count)
      return undefined
    })
  }
  const keyOf = (values: Values) => `${quotaKeyOf(toNewValue(values))} ${deviceTypeOf(values)}`
  return { keyOf, refuse }
}

/** The type of the device that has measured the values. */
export function deviceTypeOf({ device }: Values): string | undefined {
  const type = (device as { type?: unknown } | null | undefined)?.type
  return typeof type === 'string' ? type : undefined
}

const dayNumberOf = (time: Date): number => Math.floor(time.getTime() / DAY_MS)
/** The same day number as an aggregation expression. */
const dayNumberExpression = (field: string) => ({ $floor: { $divide: [{ $toLong: field }, DAY_MS] } })

const quotaKeyOf = ({ ehrId, type, day }: Omit<NewValue, 'id' | 'version'>): string =>
  `${ehrId} ${type} ${day}`

const versionKeyOf = ({ type, version }: NewValue): string => `${type} ${version}`

/** Marks the type as used, because its first data is about to be stored. */
async function findDailyLimit(
  context: DefinitionLookup,
  { family, typeField }: QuotaKind,
  { type, version }: NewValue,
): Promise<number | ServiceError> {
  const isMarked = await markTypeUsed(context, family, type, version)
  const resolvedType = isMarked && (await resolveType(context, family, type))
  return resolvedType ? resolvedType.perDay : deletedTypeError(context, family, type, typeField)
}

/**
 * Marks the types of the devices as used.
 * @returns the errors of those that another request has just deleted. Data whose device type is unknown since an
 * earlier release can still be corrected.
 */
async function markDeviceTypes(
  context: DefinitionLookup,
  values: readonly Values[],
): Promise<ReadonlyMap<string | undefined, ServiceError>> {
  const errors = new Map<string | undefined, ServiceError>()
  for (const name of new Set(values.map(deviceTypeOf)))
    if (name !== undefined && (await resolveType(context, 'device', name)))
      if (!(await markTypeUsed(context, 'device', name)))
        errors.set(name, deletedTypeError(context, 'device', name, 'device.type'))
  return errors
}

function deletedTypeError(
  context: DefinitionLookup,
  family: TypeFamily,
  name: string,
  path: string,
): ServiceError {
  // Otherwise the next request would be checked by the same definition.
  evictType(context, family, name)
  const message = 'must not be a type that was deleted meanwhile. If it exists again, send the data again'
  return new ServiceError('RuleViolated', { violations: [{ path, code: 'unknown', message }] })
}

function tooManyError(type: string, limit: number): ServiceError {
  const detail = `An EHR accepts ${limit} records of ${type} a day. Send aggregates, such as one value for each hour.`
  return new ServiceError('TooManyRequests', { detail, retryAfter: DAY_MS / 1000 })
}

/**
 * Counts the stored records of each type and day, without those that an earlier attempt of the same request
 * stored.
 */
async function countExisting(
  context: DefinitionLookup,
  { collection, typeField }: Pick<QuotaKind, 'collection' | 'typeField'>,
  values: readonly NewValue[],
  session: ClientSession | undefined,
): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  const records = documentCollection(context, collection)
  const ids = values.map(({ id }) => id)
  for (const [ehrId, type, ...days] of groupByEhrAndType(values)) {
    const first = Math.min(...days)
    const last = Math.max(...days)
    const daysWithCounts = records.aggregate<{ _id: number; count: number }>(
      [
        {
          $match: {
            ehrId,
            [typeField]: type,
            timestamp: { $gte: new Date(first * DAY_MS), $lt: new Date((last + 1) * DAY_MS) },
            _id: { $nin: ids },
          },
        },
        { $group: { _id: dayNumberExpression('$timestamp'), count: { $sum: 1 } } },
      ],
      session ? { session } : {},
    )
    for await (const { _id: day, count } of daysWithCounts)
      counts.set(quotaKeyOf({ ehrId, type, day }), count)
  }
  return counts
}

/** The days of the new records, by EHR and type. */
function groupByEhrAndType(values: readonly NewValue[]): [ehrId: string, type: string, ...days: number[]][] {
  const groups = new Map<string, [string, string, ...number[]]>()
  for (const { ehrId, type, day } of values) {
    const group = groups.get(`${ehrId} ${type}`)
    if (group) group.push(day)
    else groups.set(`${ehrId} ${type}`, [ehrId, type, day])
  }
  return [...groups.values()]
}
