import type { Static } from '@sinclair/typebox'
import type { IndexDescription } from 'mongodb'
import { Ehr } from '../../schemas/ehr.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { type AuditEntry, listAccess } from '../store/audit/trail.ts'
import type { IfMatch } from '../store/decisions.ts'
import { type Caller, isAdmin } from '../store/documents/caller.ts'
import type { Saved } from '../store/documents/parse-format.ts'
import type { Page, PageOf } from '../store/reading/listing.ts'
import { accessesOf, attemptOf } from '../store/resource.ts'
import { Store } from '../store/store.ts'
import { unlessMade } from '../store/writing/once.ts'
import { inTransaction, type Records } from '../store/writing/transaction.ts'
import { ehrPermissions } from './access.ts'
import { governsEhr } from './ehr.ts'
import { removeSoftly, restoreRemoved } from './removed.ts'
import { createEhrRoles } from './roles.ts'

export type StoredEhr = Saved<Static<typeof Ehr.record>>

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
      lists: { newest: { by: [], sort: 'createdAt', order: 'desc' } },
    })
  }

  /** The collections and the indexes that they need: server start creates them. */
  indexes(): [collection: string, IndexDescription[]][] {
    return [this.store.indexes()]
  }

  /** Those whose subject or creator the caller is, and those in whose care plans they take part; the newest first. */
  list(caller: Caller, page: PageOf): Promise<Page<StoredEhr>> {
    return this.store.list(caller, 'newest', { where: {}, ...page })
  }

  /** Those whose subject the caller is, the newest first. */
  async ownOf(caller: Caller): Promise<StoredEhr[]> {
    const where = { subjectId: caller.userId }
    return (await this.store.list(caller, 'newest', { where, limit: 1000 })).items
  }

  /** @throws NotFound */
  get(caller: Caller, id: string): Promise<StoredEhr> {
    return this.store.get(caller, { id })
  }

  /** Makes an EHR about the subject, who reads and writes it; so does the caller when it is somebody else. */
  create(caller: Caller, subjectId: string, id: string): Promise<StoredEhr> {
    const writer = caller.userId === subjectId ? undefined : caller.userId
    return unlessMade(
      () =>
        inTransaction(this.#records, async (tx) => {
          const permissions = ehrPermissions(id, subjectId)
          const ehr = await this.store.create(caller, { subjectId }, permissions, { tx, id })
          await createEhrRoles(this.#records, tx.session, id, writer)
          return ehr
        }),
      () => this.get(caller, id),
    )
  }

  /**
   * Removes an EHR with all that hangs on it, for everyone and at once; an administrator can bring it back for 30 days.
   * @throws NotFound; Forbidden for one who is neither its subject nor an administrator; PreconditionFailed
   */
  async remove(caller: Caller, id: string, ifMatch: IfMatch): Promise<void> {
    const by = isAdmin(caller) ? { ...caller, unrestricted: true as const } : caller
    const removal = inTransaction(this.#records, async (tx) => {
      const { subjectId } = await this.store.get(by, { id }, { tx })
      await this.#requireGoverning(by, { id, subjectId }, 'delete')
      await removeSoftly(this.#records, tx, { ehrId: id, subjectId })
      await this.store.remove(by, { id }, { tx, ifMatch })
    })
    await this.#records.recentRemovals.remember(id, removal)
  }

  /**
   * Who saw and changed what of an EHR, the newest first. Its own reader is in it too. An administrator reads it also
   * when the EHR is gone.
   * @throws NotFound; Forbidden for one who is neither its subject nor an administrator
   */
  async accesses(caller: Caller, ehrId: string, page: PageOf): Promise<Page<AuditEntry>> {
    const { db, audit } = this.#records
    if (!isAdmin(caller)) await this.#requireGoverning(caller, await this.get(caller, ehrId), 'query')
    else if ((await listAccess(db, ehrId, { limit: 1 })).items.length > 0) {
      await audit.record(...accessesOf(AUDITED, caller, { action: 'query' }, [{ id: ehrId }]))
    } else await this.get({ ...caller, unrestricted: true }, ehrId)
    return listAccess(db, ehrId, page)
  }

  /**
   * Brings back an EHR that was removed less than 30 days ago.
   * @param again whether an earlier attempt of the same request may have done so
   * @throws NotFound
   */
  async restore(caller: Caller, id: string, again: boolean): Promise<StoredEhr> {
    const by = { ...caller, unrestricted: true as const }
    const restored = inTransaction(this.#records, (tx) => restoreRemoved(this.#records, tx, by, id))
    await restored.catch((error) => {
      if (!(again && error instanceof ServiceError)) throw error
    })
    return this.get(by, id)
  }

  /** @throws Forbidden, of which the audit is told */
  async #requireGoverning(
    caller: Caller,
    ehr: Pick<StoredEhr, 'id' | 'subjectId'>,
    action: 'query' | 'delete',
  ): Promise<void> {
    if (governsEhr(caller, ehr.subjectId)) return
    const refused = { action, outcome: 'refused' } as const
    await this.#records.audit.record(...attemptOf(AUDITED, caller, refused, ehr))
    throw new ServiceError('Forbidden')
  }
}
