import type { Static } from '@sinclair/typebox'
import type { ClientSession, IndexDescription } from 'mongodb'
import { Ehr } from '../../schemas/ehr.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { type AuditEntry, listAccess } from '../store/audit/trail.ts'
import type { Expected } from '../store/decisions.ts'
import { type Caller, isAdmin, type Permissions } from '../store/documents/caller.ts'
import { canRead, isDuplicate } from '../store/documents/database.ts'
import type { Saved } from '../store/documents/parse-format.ts'
import type { Page, PageOf } from '../store/reading/listing.ts'
import { accessesOf, attemptOf } from '../store/resource.ts'
import { untilDone } from '../store/steps/under-way.ts'
import { Store } from '../store/store.ts'
import { unlessMade } from '../store/writing/once.ts'
import { inTransaction, type Records, type Transaction } from '../store/writing/transaction.ts'
import { admitSubject, waitsFor } from './agreement.ts'
import { beginEhr, makersOf } from './beginning/beginning.ts'
import { governsEhr } from './beginning/of-account.ts'
import { ownEhrId, ownFirst } from './own-first.ts'
import { removeSoftly, restoreRemoved, untilMarked } from './removal/removed.ts'
import { ehrPermissions } from './rights/access.ts'
import { unnamedFor } from './rights/anonymity.ts'

export type StoredEhr = Saved<Static<typeof Ehr.record>>

/** As those see it who may not know whom it is about, too. */
export type SeenEhr = Omit<StoredEhr, 'subjectId'> & { subjectId: string | null }

/** For what a rule of its own allows, whatever the permissions say. */
const unrestricted = (caller: Caller): Caller => ({ ...caller, unrestricted: true })

/** How they are listed. */
export const ehrLists = {
  newest: { by: [], sort: 'createdAt', order: 'desc' },
  pending: { by: ['subjectId', 'pending'], sort: 'createdAt', order: 'desc' },
} as const

const AUDITED = { collection: 'Ehr', ehr: 'id' } as const

/** The electronic health records: the documents of the class Ehr. */
export class Ehrs {
  readonly #records: Records
  readonly store

  constructor(records: Records) {
    this.#records = records
    this.store = new Store(records, {
      ...AUDITED,
      schema: Ehr.record,
      lists: ehrLists,
    })
  }

  /** The collections and the indexes that they need: server start creates them. */
  indexes(): [collection: string, IndexDescription[]][] {
    return [this.store.indexes()]
  }

  /**
   * Those whose subject or creator the caller is, and those in whose care plans they take part: first the one that came
   * with the caller's account, then the newest first. Participants of anonymous plans do not see the subject.
   */
  async list(caller: Caller, page: PageOf, where: { subjectId?: string } = {}): Promise<Page<SeenEhr>> {
    const [{ items, ...rest }, unnamed] = await Promise.all([
      this.#list(caller, page, where),
      unnamedFor(this.#records, caller),
    ])
    return { ...rest, items: items.map((ehr) => (unnamed.has(ehr.id) ? { ...ehr, subjectId: null } : ehr)) }
  }

  async #list(caller: Caller, page: PageOf, where: { subjectId?: string }): Promise<Page<StoredEhr>> {
    const own = await ownEhrId(this.#records, caller)
    if (own === undefined) return this.store.list(caller, 'newest', { where, ...page })
    return ownFirst(
      page,
      () => this.store.list(caller, 'newest', { where: { ...where, id: own }, limit: 1 }),
      (others) => this.store.list(caller, 'newest', { where: { ...where, id: { not: own } }, ...others }),
    )
  }

  /** Those whose subject the caller is, in the same order. */
  async aboutThemselves(caller: Caller): Promise<SeenEhr[]> {
    return (await this.list(caller, { limit: 1000 }, { subjectId: caller.userId })).items
  }

  /** @throws NotFound */
  get(caller: Caller, id: string): Promise<StoredEhr> {
    return this.store.get(caller, { id })
  }

  /** Whether the caller may still read it, without a trace in its audit. */
  isReadable(caller: Caller, id: string): Promise<boolean> {
    return canRead(this.#records, caller, 'Ehr', { _id: id })
  }

  /** Those that wait for the caller to agree, the newest first, without their contents. */
  listPending(caller: Caller, page: PageOf): Promise<Page<StoredEhr>> {
    const where = { subjectId: caller.userId, pending: true }
    return this.store.list(unrestricted(caller), 'pending', { where, ...page })
  }

  /**
   * Makes an EHR, as {@link beginEhr} has it.
   * @param keep what belongs to it from the beginning
   * @throws RuleViolated for one too many
   */
  create(
    caller: Caller,
    subjectId: string,
    id: string,
    keep?: (tx: Transaction, permissions: Permissions) => Promise<void>,
  ): Promise<StoredEhr> {
    return unlessMade(
      () =>
        inTransaction(this.#records, async (tx) => {
          const { permissions, ...kept } = await beginEhr(this.#records, tx, caller, {
            _id: id,
            subjectId,
          })
          await keep?.(tx, permissions)
          return this.store.create(caller, { subjectId, ...kept }, permissions, { tx, id })
        }).catch((error) => {
          throw isDuplicate(error) ? new ServiceError('Conflict', { cause: error }) : error
        }),
      // An administrator may not see what they made for somebody else.
      () => this.get(isAdmin(caller) ? unrestricted(caller) : caller, id),
    )
  }

  /**
   * The subject agrees to an EHR that somebody else made about them, and from then on reads and writes it and all that is
   * registered in it, its history and audit included. To do so once more changes nothing.
   * @throws NotFound; Forbidden for one who may read it and is not its subject
   */
  async accept(caller: Caller, id: string): Promise<StoredEhr> {
    const subjectId = caller.userId
    const accepted = await inTransaction(this.#records, async (tx) => {
      if (!(await waitsFor(this.#records, caller.userId, id, tx.session))) return
      const permissions = ehrPermissions({ _id: id, subjectId })
      const agreed = (now: StoredEhr) => ({ ...now, pending: false })
      const ehr = await this.store.update(unrestricted(caller), { id }, agreed, { tx, permissions })
      await admitSubject(this.#records, tx, { ehrId: id, subjectId })
      return ehr
    })
    if (accepted) return accepted
    const ehr = await this.get(caller, id)
    if (ehr.subjectId !== subjectId) await this.#refuse(caller, ehr, 'update')
    return ehr
  }

  /**
   * Removes an EHR with all that hangs on it, for everyone and at once; an administrator can bring it back for 30 days.
   * So does a subject who does not agree to it.
   * @throws NotFound; Forbidden for one who does not govern it; PreconditionFailed
   */
  async remove(caller: Caller, id: string, expected: Expected): Promise<void> {
    const removal = inTransaction(this.#records, async (tx) => {
      const declines = isAdmin(caller) || (await waitsFor(this.#records, caller.userId, id, tx.session))
      const by = declines ? unrestricted(caller) : caller
      const ehr = await this.store.get(by, { id }, { tx })
      await this.#requireGoverning(by, ehr, 'delete')
      await removeSoftly(this.#records, tx, by, { ehrId: id, subjectId: ehr.subjectId })
      await this.store.remove(by, { id }, { tx, expected })
    })
    await this.#records.recentRemovals.remember(id, removal)
    await untilMarked(this.#records, id)
  }

  /**
   * Who saw and changed what of an EHR, the newest first. Its own reader is in it too. An administrator reads it also
   * when the EHR is gone.
   * @throws NotFound; Forbidden for one who does not govern it
   */
  async accesses(caller: Caller, ehrId: string, page: PageOf): Promise<Page<AuditEntry>> {
    const { db, audit } = this.#records
    if (!isAdmin(caller)) await this.#requireGoverning(caller, await this.get(caller, ehrId), 'query')
    else if ((await listAccess(db, ehrId, { limit: 1 })).items.length > 0) {
      await audit.record(...accessesOf(AUDITED, caller, { action: 'query' }, [{ id: ehrId }]))
    } else await this.get(unrestricted(caller), ehrId)
    return listAccess(db, ehrId, page)
  }

  /**
   * Brings back an EHR that was removed less than 30 days ago.
   * @param again whether an earlier attempt of the same request may have done so
   * @throws NotFound
   */
  async restore(caller: Caller, id: string, again: boolean): Promise<StoredEhr> {
    const by = unrestricted(caller)
    const restored = inTransaction(this.#records, (tx) => restoreRemoved(this.#records, tx, by, id))
    await restored.catch((error) => {
      if (!(again && error instanceof ServiceError)) throw error
    })
    await untilDone(this.#records, { field: 'ehrId', id })
    return this.get(by, id)
  }

  /** Forgets what somebody made whose account ends; the EHRs themselves stay. */
  async leave(session: ClientSession, userId: string): Promise<void> {
    await makersOf(this.#records).deleteOne({ _id: userId }, { session })
  }

  /** @throws Forbidden, which is audited */
  async #requireGoverning(caller: Caller, ehr: StoredEhr, action: 'query' | 'delete'): Promise<void> {
    if (!governsEhr(caller, ehr)) await this.#refuse(caller, ehr, action)
  }

  async #refuse(caller: Caller, ehr: StoredEhr, action: 'query' | 'update' | 'delete'): Promise<never> {
    const refused = { action, outcome: 'refused' } as const
    await this.#records.audit.record(...attemptOf(AUDITED, caller, refused, { id: ehr.id }))
    throw new ServiceError('Forbidden')
  }
}
