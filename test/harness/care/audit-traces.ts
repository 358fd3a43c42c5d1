import { UUID } from 'mongodb'
import type { Person } from '../people/people.ts'
import { service } from '../service/service.ts'

/** The entries that some work of a person leaves in the audit of any EHR: `<ehrId> query done`, each once. */
export async function tracesOf(
  { mvUid: userId }: Person,
  work: () => PromiseLike<unknown>,
): Promise<string[]> {
  const entries = service.db.collection('audit.entries')
  const known = await entries.distinct('_id', { userId })
  await work()
  const found = await entries.find({ userId, _id: { $nin: known } }).toArray()
  return [
    ...new Set(found.map(({ ehrId, action, outcome = 'done' }) => `${ehrId} ${action} ${outcome}`)),
  ].sort()
}

/** The entries of one request: `denied <ehrId>`, as often as there are. */
export async function outcomesOf(requestId: string): Promise<string[]> {
  const entries = service.db.collection('audit.entries').find({ requestId: new UUID(requestId) })
  return (await entries.toArray()).map(({ outcome = 'done', ehrId }) => `${outcome} ${ehrId}`)
}
