import type { ClientSession } from 'mongodb'
import { ServiceError } from '../../schemas/errors.ts'
import type { DefinitionLookup, Quota, Values } from '../ehr-records/kind.ts'
import { documentCollection } from '../store/documents/database.ts'
import { markTypeUsed, resolveType, type TypeFamily } from '../types/type-registry.ts'

const DAY_MS = 86_400_000

interface QuotaKind {
  collection: string
  family: TypeFamily
  /** The field that contains the type's name. */
  by: 'dataType' | 'eventType'
}

/** A new record of a type in an EHR, on a UTC day. */
interface NewValue {
  id: string
  ehrId: string
  type: string
  day: number
}

/**
 * Limits the records of a type to its number per day, counted in each EHR by the day that they are about.
 * Every writer takes the lock of the EHR, so nobody adds a record between count and insert.
 */
export function createDailyQuota({ collection, family, by }: QuotaKind): Quota {
  const toNewValue = (values: Values): NewValue => ({
    id: String(values.id),
    ehrId: String(values.ehrId),
    type: String(values[by]),
    day: dayNumberOf(new Date(String(values.timestamp))),
  })
  const refuse: Quota['refuse'] = async (records, some, session) => {
    if (some.length === 0) return []
    const newValues = some.map(toNewValue)
    const most = new Map<string, number>()
    for (const type of new Set(newValues.map((one) => one.type)))
      most.set(type, await findDailyLimit(records, family, type))
    const counts = await countExisting(records, { collection, by }, newValues, session)
    return newValues.map((one) => {
      const key = quotaKeyOf(one)
      const count = (counts.get(key) ?? 0) + 1
      const limit = most.get(one.type) ?? 0
      if (count > limit) return tooManyError(one.type, limit)
      counts.set(key, count)
      return undefined
    })
  }
  return { keyOf: (values) => quotaKeyOf(toNewValue(values)), refuse }
}

const dayNumberOf = (time: Date): number => Math.floor(time.getTime() / DAY_MS)
/** The same day number as an aggregation expression. */
const dayNumberExpression = (field: string) => ({ $floor: { $divide: [{ $toLong: field }, DAY_MS] } })

const quotaKeyOf = ({ ehrId, type, day }: Omit<NewValue, 'id'>): string => `${ehrId} ${type} ${day}`

/** Marks the type as used, because its first data is about to be stored. */
async function findDailyLimit(records: DefinitionLookup, family: TypeFamily, name: string): Promise<number> {
  const type = await resolveType(records, family, name)
  if (type && (await markTypeUsed(records, family, type))) return type.perDay
  const message = 'must not be a deleted type'
  const path = family === 'data' ? 'dataType' : 'eventType'
  throw new ServiceError('RuleViolated', { violations: [{ path, code: 'unknown', message }] })
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
  records: DefinitionLookup,
  { collection, by }: Pick<QuotaKind, 'collection' | 'by'>,
  values: readonly NewValue[],
  session: ClientSession | undefined,
): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  const all = documentCollection(records, collection)
  const ids = values.map(({ id }) => id)
  for (const [ehrId, type, ...days] of groupByEhrAndType(values)) {
    const first = Math.min(...days)
    const last = Math.max(...days)
    const found = all.aggregate<{ _id: number; count: number }>(
      [
        {
          $match: {
            ehrId,
            [by]: type,
            timestamp: { $gte: new Date(first * DAY_MS), $lt: new Date((last + 1) * DAY_MS) },
            _id: { $nin: ids },
          },
        },
        { $group: { _id: dayNumberExpression('$timestamp'), count: { $sum: 1 } } },
      ],
      session ? { session } : {},
    )
    for await (const { _id: day, count } of found) counts.set(quotaKeyOf({ ehrId, type, day }), count)
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
