import type { Db } from 'mongodb'
import { type AuditEntry, entryMac, type Head, placeOf, sameMac } from './chain.ts'
import { beginningOf, shortenedChains } from './checkpoint.ts'
import { type Instance, instancesOf, openingOf, sealOf } from './registry.ts'
import { scopeId, scopesOf } from './scopes.ts'
import { entriesOf } from './trail.ts'

/** What a verification found. */
export interface Verdict {
  instances: number
  chains: number
  entries: number
  /** The first thing that is not as the service wrote it; null when all is. */
  broken: { at: string; reason: string } | null
}

export interface Progress {
  entries: number
  /** An estimate. */
  of: number
}

class Broken extends Error {
  readonly at: string

  constructor(at: string, reason: string) {
    super(reason)
    this.at = at
  }
}

const REPORT_EVERY = 10_000

/**
 * Reads the whole audit and checks every mac, every sequence number and every signed head; may run beside the service.
 * Finds entries that were changed, removed, added or moved, chains cut off or removed, and instances left out.
 * @param db without deadlines
 * @see docs/decisions/audit-chain.md for what it cannot find
 */
export async function verifyAudit(
  db: Db,
  key: string,
  onProgress?: (progress: Progress) => void,
): Promise<Verdict> {
  const verdict: Verdict = { instances: 0, chains: 0, entries: 0, broken: null }
  try {
    const heads = await verifyRegistry(db, key, verdict)
    for (const chain of await shortenedChains(db)) await beginning(db, key, chain)
    await verifyChains(db, key, heads, verdict, onProgress)
    await verifyScopes(db)
    for (const [chain, head] of heads) {
      const { sequence } = await beginning(db, key, chain)
      if (sequence < head.sequence) throw new Broken(chain, `all entries after ${sequence} are missing`)
    }
  } catch (error) {
    if (!(error instanceof Broken)) throw error
    verdict.broken = { at: error.at, reason: error.message }
  }
  return verdict
}

/** @returns how far each chain must reach at least */
async function verifyRegistry(db: Db, key: string, verdict: Verdict): Promise<Map<string, Head>> {
  const heads = new Map<string, Head>()
  let opening = ''
  for await (const instance of instancesOf(db).find().sort({ _id: 1 })) {
    const name = `instance ${instance._id}`
    if (instance._id !== verdict.instances + 1) throw new Broken(name, 'the instance before it is missing')
    await ours(name, () => verifyInstance(key, opening, instance, name))
    opening = instance.opening
    for (const { chain, ...head } of instance.heads) heads.set(chain, head)
    verdict.instances += 1
  }
  return heads
}

function verifyInstance(key: string, previous: string, instance: Instance, name: string): void {
  if (!sameMac(instance.opening, openingOf(key, previous, instance))) {
    throw new Broken(name, 'its opening was not signed with this key')
  }
  if (!sameMac(instance.seal, sealOf(key, instance)))
    throw new Broken(name, 'its heads were not signed with this key')
}

/** Walks all chains, one after the other in the order of their entries' ids, and takes each off the heads. */
async function verifyChains(
  db: Db,
  key: string,
  heads: Map<string, Head>,
  verdict: Verdict,
  onProgress: ((progress: Progress) => void) | undefined,
): Promise<void> {
  const of = onProgress ? await entriesOf(db).estimatedDocumentCount() : 0
  let chain = ''
  let head: Head = { sequence: 0, mac: '' }
  const end = () => {
    const signed = heads.get(chain)
    if (signed && head.sequence < signed.sequence)
      throw new Broken(chain, `cut off after entry ${head.sequence}`)
    heads.delete(chain)
  }
  for await (const entry of entriesOf(db).find().sort({ _id: 1 })) {
    const place = await ours(entry._id, () => placeOf(entry._id))
    if (place.chain !== chain) {
      end()
      chain = place.chain
      await verifyOrigin(db, chain, verdict)
      head = await beginning(db, key, chain)
      verdict.chains += 1
    }
    head = await ours(entry._id, () => follow(db, key, entry, head))
    verdict.entries += 1
    if (onProgress && verdict.entries % REPORT_EVERY === 0) onProgress({ entries: verdict.entries, of })
  }
  end()
}

/** Checks that the sets of EHRs are those that the entries are about: an entry's mac covers the set's id. */
async function verifyScopes(db: Db): Promise<void> {
  for await (const { _id, ehrIds } of scopesOf(db).find())
    if (await ours(_id, () => scopeId(ehrIds) !== _id)) throw new Broken(_id, 'its EHRs were changed')
  const about = { ehrId: { $gt: 'ehrs-', $lt: 'ehrs.' } }
  const known = scopesOf(db)
  let last = ''
  for await (const { _id, ehrId } of entriesOf(db).find(about).sort({ ehrId: 1 })) {
    if (ehrId === null || ehrId === last) continue
    last = ehrId
    if (!(await known.findOne({ _id: ehrId }, { projection: { _id: 1 } })))
      throw new Broken(_id, 'the EHRs that it is about are missing')
  }
}

/** Somebody who changes a database may put anything into it. */
async function ours<T>(at: string, check: () => T | Promise<T>): Promise<T> {
  try {
    return await check()
  } catch (error) {
    throw error instanceof TypeError ? new Broken(at, 'the service writes nothing of this form') : error
  }
}

/** Checks that an instance of the registry wrote a chain; it may have started a moment ago. */
async function verifyOrigin(db: Db, chain: string, { instances }: Verdict): Promise<void> {
  const instance = Number(chain.split('-')[0])
  if (instance <= instances || (await instancesOf(db).findOne({ _id: instance }))) return
  throw new Broken(chain, 'no instance wrote this chain')
}

/** Checks that an entry is the next one of its chain, and takes into account that older ones may just be removed. */
async function follow(db: Db, key: string, entry: AuditEntry, head: Head): Promise<Head> {
  const { chain, sequence } = placeOf(entry._id)
  if (sequence <= head.sequence) {
    if (await entriesOf(db).findOne({ _id: entry._id }))
      throw new Broken(entry._id, 'it lies before the checkpoint')
    return head
  }
  let before = head
  if (sequence > head.sequence + 1) before = await beginning(db, key, chain)
  if (sequence !== before.sequence + 1)
    throw new Broken(entry._id, `entry ${head.sequence + 1} is missing before it`)
  const { mac, ...content } = entry
  if (!sameMac(mac, entryMac(key, before.mac, content)))
    throw new Broken(entry._id, 'its content was changed')
  return { sequence, mac }
}

async function beginning(db: Db, key: string, chain: string): Promise<Head> {
  const head = await beginningOf(db, key, chain)
  if (!head) throw new Broken(chain, 'its checkpoint was not signed with this key')
  return head
}
