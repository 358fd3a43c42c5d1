import type { ClientSession } from 'mongodb'
import { ServiceError } from '../../schemas/errors.ts'
import type { Definitions, Refusals, Values } from '../registered/kind.ts'
import { documentsOf } from '../store/documents/database.ts'
import { knownType, type TypeFamily, useType } from '../types/known-types.ts'

const DAY_MS = 86_400_000

interface Typed {
  collection: string
  family: TypeFamily
  /** The field that names the type. */
  by: 'dataType' | 'eventType'
}

/** A value of a type on a day, in UTC, in an EHR. */
interface New {
  id: string
  ehrId: string
  type: string
  day: number
}

/**
 * Lets in as many a day as their type says. What is counted are those of an EHR, by the day that they are of; the turn
 * of the EHR, which whoever writes into it takes, lets nobody come in between.
 */
export const daily =
  ({ collection, family, by }: Typed) =>
  async (records: Definitions, some: readonly Values[], session?: ClientSession): Promise<Refusals> => {
    if (some.length === 0) return []
    const wanted = some.map((values) => ({
      ...{ id: String(values.id), ehrId: String(values.ehrId), type: String(values[by]) },
      day: dayOf(new Date(String(values.timestamp))),
    }))
    const most = new Map<string, number>()
    for (const type of new Set(wanted.map((one) => one.type)))
      most.set(type, await mostOf(records, family, type))
    const counts = await counted(records, { collection, by }, wanted, session)
    return wanted.map((one) => {
      const key = keyOf(one)
      const count = (counts.get(key) ?? 0) + 1
      const limit = most.get(one.type) ?? 0
      if (count > limit) return tooMany(one.type, limit)
      counts.set(key, count)
      return undefined
    })
  }

const dayOf = (time: Date): number => Math.floor(time.getTime() / DAY_MS)
/** The same to the database. */
const dayOfField = (field: string) => ({ $floor: { $divide: [{ $toLong: field }, DAY_MS] } })

const keyOf = ({ ehrId, type, day }: Omit<New, 'id'>): string => `${ehrId} ${type} ${day}`

/** From now on data are stored of it. */
async function mostOf(records: Definitions, family: TypeFamily, name: string): Promise<number> {
  const type = await knownType(records, family, name)
  if (type && (await useType(records, family, type))) return type.perDay
  const message = 'names a type that has been deleted'
  const path = family === 'data' ? 'dataType' : 'eventType'
  throw new ServiceError('RuleViolated', { violations: [{ path, code: 'unknown', message }] })
}

function tooMany(type: string, limit: number): ServiceError {
  const detail = `An EHR takes ${limit} of ${type} a day: send aggregates, such as the values of an hour in one.`
  return new ServiceError('TooManyRequests', { detail, retryAfter: DAY_MS / 1000 })
}

/** How many there are already of each type and day. An earlier attempt of the same request may have made some of them. */
async function counted(
  records: Definitions,
  { collection, by }: Pick<Typed, 'collection' | 'by'>,
  wanted: readonly New[],
  session: ClientSession | undefined,
): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  const all = documentsOf(records, collection)
  const ids = wanted.map(({ id }) => id)
  for (const [ehrId, type, ...days] of grouped(wanted)) {
    const [first, last] = [Math.min(...days), Math.max(...days)]
    const found = all.aggregate<{ _id: number; count: number }>(
      [
        {
          $match: {
            ...{ ehrId, [by]: type },
            timestamp: { $gte: new Date(first * DAY_MS), $lt: new Date((last + 1) * DAY_MS) },
            _id: { $nin: ids },
          },
        },
        { $group: { _id: dayOfField('$timestamp'), count: { $sum: 1 } } },
      ],
      session ? { session } : {},
    )
    for await (const { _id: day, count } of found) counts.set(keyOf({ ehrId, type, day }), count)
  }
  return counts
}

/** Each EHR and type with its days. */
function grouped(wanted: readonly New[]): [ehrId: string, type: string, ...days: number[]][] {
  const groups = new Map<string, [string, string, ...number[]]>()
  for (const { ehrId, type, day } of wanted) {
    const group = groups.get(`${ehrId} ${type}`)
    if (group) group.push(day)
    else groups.set(`${ehrId} ${type}`, [ehrId, type, day])
  }
  return [...groups.values()]
}
