import type { Db } from 'mongodb'
import { TimeSlice } from '../../limits/time-slice.ts'
import { idsWithPrefix } from '../documents/ids.ts'
import { auditEntryCollection } from './audit-log.ts'
import {
  type AuditEntry,
  type ChainHead,
  EMPTY_HEAD,
  isSameMac,
  macOfEntry,
  parseEntryId,
} from './chains/chain.ts'
import { decodeAuditEntry } from './chains/entry-format.ts'
import { type AuditInstance, auditInstanceCollection, macOfHeads, macOfOpening } from './chains/instances.ts'
import { type KeyPeriod, readKeyPeriods } from './chains/key-periods.ts'
import { checkpointCollection, findChainStart } from './checkpoints.ts'
import { auditScopeCollection, scopeIdOf } from './scopes.ts'

/** The result of a verification. */
export interface VerificationResult {
  instances: number
  chains: number
  entries: number
  /** The first manipulated or missing part; null when the audit is intact. */
  broken: { at: string; reason: string } | null
  /** Runs signed with a missing key; the numbers above do not include them. */
  unverified: Unverified[]
}

interface Unverified extends Pick<KeyPeriod, 'from' | 'to' | 'lost'> {
  entries: number
}

/** The state of a verification. */
interface Task {
  db: Db
  periods: readonly KeyPeriod[]
  verdict: VerificationResult
  /** Others run in between. */
  slice: TimeSlice
}

export interface VerificationProgress {
  entries: number
  /** The estimated total. */
  estimatedTotal: number
}

class ChainFault extends Error {
  readonly at: string

  constructor(at: string, reason: string) {
    super(reason)
    this.at = at
  }
}

const ENTRIES_PER_REPORT = 10_000

/**
 * Checks every MAC, sequence number and signed head of the audit; may run while the service runs. It finds
 * changed, removed, added and moved entries, truncated and removed chains, and missing instances.
 * @param db without deadlines
 * @param onProgress is waited for
 * @param formerKeys former values of AUDIT_KEY, in any order
 * @param slice ends the verification when it is abandoned
 * @see docs/decisions/audit-chain.md for the limits
 */
export async function verifyAudit(
  db: Db,
  key: string,
  onProgress?: (progress: VerificationProgress) => unknown,
  formerKeys: readonly string[] = [],
  slice = new TimeSlice(),
): Promise<VerificationResult> {
  const periods = await readKeyPeriods(db, key, formerKeys)
  const unverified = periods
    .filter((period) => period.key === undefined)
    .map(({ from, to, lost }) => ({ from, to, lost, entries: 0 }))
  const verdict: VerificationResult = { instances: 0, chains: 0, entries: 0, broken: null, unverified }
  const task = { db, periods, verdict, slice }
  try {
    const heads = await verifyRegistry(task)
    for await (const { _id } of checkpointCollection(db).find().sort({ _id: 1 }))
      await requireChainStart(task, _id)
    await verifyChains(task, heads, onProgress)
    await verifyScopes(task)
    for (const [chain, head] of heads) {
      const { sequence } = await requireChainStart(task, chain)
      if (sequence < head.sequence) throw new ChainFault(chain, `all entries after ${sequence} are missing`)
    }
  } catch (error) {
    if (!(error instanceof ChainFault)) throw error
    verdict.broken = { at: error.at, reason: error.message }
  }
  return verdict
}

/** The count of the unverified runs with this instance; undefined when it can be verified. */
const unverifiedOf = ({ verdict }: Task, instance: number): Unverified | undefined =>
  verdict.unverified.find(({ from, to }) => instance >= from && instance <= to)

const instanceOf = (chain: string): number => Number(chain.split('-')[0])

/** The keys that may have signed parts of an instance: its own, and later ones for its checkpoints. */
function keysOf({ periods }: Task, instance: number): string[] {
  return periods.filter(({ to }) => instance <= to).flatMap(({ key }) => key ?? [])
}

/** @returns the signed head of each chain, which the chain must at least reach */
async function verifyRegistry(task: Task): Promise<Map<string, ChainHead>> {
  const heads = new Map<string, ChainHead>()
  let number = 0
  let opening = ''
  for await (const instance of auditInstanceCollection(task.db).find().sort({ _id: 1 })) {
    const name = `instance ${instance._id}`
    if (instance._id !== ++number) throw new ChainFault(name, 'the instance before it is missing')
    if (!unverifiedOf(task, number)) {
      await checkForm(name, () => verifyInstance(keysOf(task, number)[0] ?? '', opening, instance, name))
      for (const { chain, ...head } of instance.heads) heads.set(chain, head)
      task.verdict.instances += 1
    }
    opening = instance.opening
  }
  return heads
}

function verifyInstance(key: string, previous: string, instance: AuditInstance, name: string): void {
  if (!isSameMac(instance.opening, macOfOpening(key, previous, instance)))
    throw new ChainFault(name, 'its opening was not signed with this key')
  if (!isSameMac(instance.seal, macOfHeads(key, instance)))
    throw new ChainFault(name, 'its heads were not signed with this key')
}

/** Verifies all chains in the order of their entries' ids, and removes each from `heads`. */
async function verifyChains(
  task: Task,
  heads: Map<string, ChainHead>,
  onProgress: ((progress: VerificationProgress) => unknown) | undefined,
): Promise<void> {
  const { db, verdict } = task
  const estimatedTotal = onProgress ? await auditEntryCollection(db).estimatedDocumentCount() : 0
  let chain = ''
  let head: ChainHead = { sequence: 0, mac: '' }
  const end = () => {
    const signedHead = heads.get(chain)
    if (signedHead && head.sequence < signedHead.sequence)
      throw new ChainFault(chain, `cut off after entry ${head.sequence}`)
    heads.delete(chain)
  }
  for await (const storedEntry of inSlices(task, auditEntryCollection(db).find().sort({ _id: 1 }))) {
    const position = await checkForm(storedEntry._id, () => parseEntryId(storedEntry._id))
    const unverifiedRuns = unverifiedOf(task, instanceOf(position.chain))
    if (unverifiedRuns) {
      unverifiedRuns.entries += 1
      continue
    }
    if (position.chain !== chain) {
      end()
      chain = position.chain
      await verifyOrigin(task, chain)
      head = await requireChainStart(task, chain)
      verdict.chains += 1
    }
    head = await checkForm(storedEntry._id, () => verifyEntry(task, decodeAuditEntry(storedEntry), head))
    verdict.entries += 1
    if (onProgress && verdict.entries % ENTRIES_PER_REPORT === 0)
      await onProgress({ entries: verdict.entries, estimatedTotal })
  }
  end()
}

/** A batch of a cursor has thousands of documents, which would hold the process for a second. */
async function* inSlices<T>({ slice }: Pick<Task, 'slice'>, documents: AsyncIterable<T>): AsyncIterable<T> {
  for await (const one of documents) {
    yield one
    if (slice.isOver()) await slice.yieldToOthers()
  }
}

/** Checks the sets of EHRs against their ids, which the MACs of the entries cover. */
async function verifyScopes(task: Task): Promise<void> {
  const { db } = task
  for await (const { _id, ehrIds } of inSlices(task, auditScopeCollection(db).find()))
    if (await checkForm(_id, () => scopeIdOf(ehrIds) !== _id))
      throw new ChainFault(_id, 'the list of its EHRs was changed')
  const scopeRange = { ehrId: idsWithPrefix('ehrs-') }
  const scopes = auditScopeCollection(db)
  let last = ''
  for await (const { _id, ehrId } of inSlices(
    task,
    auditEntryCollection(db).find(scopeRange).sort({ ehrId: 1 }),
  )) {
    if (ehrId === null || ehrId === last) continue
    last = ehrId
    if (!(await scopes.findOne({ _id: ehrId }, { projection: { _id: 1 } })))
      throw new ChainFault(_id, 'the list of its EHRs is missing')
  }
}

/** Reports malformed documents as faults: an attacker may have written anything. */
async function checkForm<T>(at: string, check: () => T | Promise<T>): Promise<T> {
  try {
    return await check()
  } catch (error) {
    throw error instanceof TypeError
      ? new ChainFault(at, 'the entry has a form that the service does not write')
      : error
  }
}

/** Checks that a registered instance wrote the chain; it may have started a moment ago. */
async function verifyOrigin({ db }: Task, chain: string): Promise<void> {
  if (await auditInstanceCollection(db).findOne({ _id: instanceOf(chain) })) return
  throw new ChainFault(chain, 'no instance wrote this chain')
}

/** Checks that an entry is the next one of its chain. Older entries may be removed at the same time. */
async function verifyEntry(task: Task, entry: AuditEntry, head: ChainHead): Promise<ChainHead> {
  const { chain, sequence } = parseEntryId(entry._id)
  if (sequence <= head.sequence) {
    if (await auditEntryCollection(task.db).findOne({ _id: entry._id }))
      throw new ChainFault(entry._id, 'it lies before the checkpoint')
    return head
  }
  let before = head
  if (sequence > head.sequence + 1) before = await requireChainStart(task, chain)
  if (sequence !== before.sequence + 1)
    throw new ChainFault(entry._id, `entry ${head.sequence + 1} is missing before it`)
  const { mac, ...content } = entry
  const [key = ''] = keysOf(task, instanceOf(chain))
  if (!isSameMac(mac, macOfEntry(key, before.mac, content)))
    throw new ChainFault(entry._id, 'its content was changed')
  return { sequence, mac }
}

async function requireChainStart(task: Task, chain: string): Promise<ChainHead> {
  const instance = instanceOf(chain)
  if (unverifiedOf(task, instance)) return EMPTY_HEAD
  const head = await findChainStart(task.db, keysOf(task, instance), chain)
  if (!head) throw new ChainFault(chain, 'its checkpoint was not signed with this key')
  return head
}
