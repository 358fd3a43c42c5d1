import { chainIdStart, parseEntryId } from '../../../records/store/audit/chains/chain.ts'
import { decodeAuditEntry, type StoredAuditEntry } from '../../../records/store/audit/chains/entry-format.ts'
import type { Person } from '../people/people.ts'
import { service } from '../service/service.ts'

type Entry = ReturnType<typeof decodeAuditEntry>

/** The entries of the service's audit that have been read, in the order of reading. */
const auditEntries: Entry[] = []
/** The last known id of each chain. Ids sort by chain, then by time. */
const lastIds = new Map<string, string>()
let reading = Promise.resolve()

/**
 * Reads the entries that are new. No index has their users or requests, so each test would read all entries of the
 * tests before.
 */
function readNewEntries(): Promise<void> {
  reading = reading.then(async () => {
    const ids = [...lastIds.values()].sort()
    const starts = ids.map((id) => chainIdStart(parseEntryId(id).chain))
    const gaps = [undefined, ...ids].map((id, i) => ({
      _id: { ...(id && { $gt: id }), ...(starts[i] && { $lt: starts[i] }) },
    }))
    // Sorted here, since the engine would read the whole collection in order instead of only the gaps.
    const stored = await service.db
      .collection<StoredAuditEntry>('audit.entries')
      .find(ids.length > 0 ? { $or: gaps } : {})
      .toArray()
    const inOrder = stored.sort((one, other) => (one._id < other._id ? -1 : 1))
    for (const entry of inOrder.map(decodeAuditEntry)) {
      lastIds.set(parseEntryId(entry._id).chain, entry._id)
      auditEntries.push(entry)
    }
  })
  return reading
}

/** The entries that some work of a person leaves in the audit of any EHR: `<ehrId> query done`, each once. */
export async function tracesOf({ mvUid }: Person, work: () => PromiseLike<unknown>): Promise<string[]> {
  await readNewEntries()
  const before = auditEntries.length
  await work()
  await readNewEntries()
  const entriesOfUser = auditEntries.slice(before).filter(({ userId }) => userId === mvUid)
  return [
    ...new Set(entriesOfUser.map(({ ehrId, action, outcome }) => `${ehrId} ${action} ${outcome}`)),
  ].sort()
}

/** The entries of one request: `denied <ehrId>`, as often as there are. */
export async function outcomesOf(requestId: string): Promise<string[]> {
  await readNewEntries()
  return auditEntries
    .filter((entry) => entry.requestId === requestId)
    .map(({ outcome, ehrId }) => `${outcome} ${ehrId}`)
}
