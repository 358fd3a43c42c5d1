import type { Static } from '@sinclair/typebox'
import type { ClientSession, Filter, IndexDescription } from 'mongodb'
import { EhrForms } from '../../schemas/ehrs/ehr.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { type AccessFilter, type AuditEntry, listAccesses } from '../store/audit/audit-log.ts'
import { type Caller, isAdmin, type Permissions, permissionFilter } from '../store/documents/caller.ts'
import { canRead, documentCollection } from '../store/documents/database.ts'
import type { ParseDocument, SavedRecord } from '../store/documents/parse-format.ts'
import { waitForJob } from '../store/jobs/background-jobs.ts'
import type { Page, PageRequest } from '../store/reading/pages.ts'
import { accessesByEhr, accessWithoutRecords } from '../store/resource.ts'
import { Store, throwConflict } from '../store/store.ts'
import type { ExpectedVersions, WrittenRecord } from '../store/write-decider.ts'
import { createOrFindExisting } from '../store/writing/create-or-find-existing.ts'
import { runStoreTransaction, type StoreContext, type Transaction } from '../store/writing/transaction.ts'
import { findPendingEhr, grantSubjectAccess, isPendingFor } from './acceptance.ts'
import { ehrCreationQueue, ehrCreatorsOf, prepareEhrCreation } from './creation/ehr-creation.ts'
import {
  type DeletedEhr,
  deletedEhrsOf,
  listDeletedEhrs,
  restoreDeletedEhr,
  softDeleteEhrContents,
  waitUntilHidden,
} from './deletion/deleted-ehrs.ts'
import { findOwnEhrId, listOwnFirst } from './list-own-first.ts'
import { canManageEhr, ehrPermissions, SYSTEM_ID_RANGE } from './rights/access.ts'
import { findAnonymizedEhrs, hideSubject } from './rights/anonymity.ts'

export type StoredEhr = SavedRecord<Static<typeof EhrForms.record>>

/** An EHR as the API shows it; `subjectId` is null for callers who may not know the subject. */
export type EhrView = Omit<StoredEhr, 'subjectId'> & { subjectId: string | null }

/** For accesses that a rule of their own allows, regardless of the permissions. */
const asUnrestricted = (caller: Caller): Caller => ({ ...caller, unrestricted: true })

export const ehrLists = {
  newest: { requiredFields: [], sort: 'createdAt', order: 'desc' },
  aboutSubject: { requiredFields: ['subjectId'], sort: 'createdAt', order: 'desc' },
  pending: { requiredFields: ['subjectId', 'pending'], sort: 'createdAt', order: 'desc' },
} as const

/** A connected system is responsible for one EHR of each subject. */
const SYSTEM_SUBJECT_INDEX: IndexDescription = {
  name: 'system_subject',
  key: { creatorId: 1, subjectId: 1 },
  unique: true,
  partialFilterExpression: { creatorId: SYSTEM_ID_RANGE },
}

const EHR_DELETION_REFUSAL =
  'Only the subject of an EHR and administrators can delete it, and its creator until the subject accepts it.'

const EHR_RESOURCE = { collection: 'Ehr', ehr: 'id' } as const

/** The EHRs: the documents of the class Ehr. */
export class Ehrs {
  readonly #context: StoreContext
  readonly store

  constructor(context: StoreContext) {
    this.#context = context
    this.store = new Store(context, {
      ...EHR_RESOURCE,
      schema: EhrForms.record,
      lists: ehrLists,
      indexes: [{ key: { pending: 1 }, partialFilterExpression: { pending: true } }, SYSTEM_SUBJECT_INDEX],
    })
  }

  /** The collections and their indexes, which the service creates on startup. */
  indexes(): [collection: string, IndexDescription[]][] {
    return [this.store.indexes()]
  }

  /**
   * Lists the EHRs of which the caller is subject or creator, or in whose care plans they take part. The EHR
   * of the caller's account comes first, then the newest. Participants of anonymous plans do not see the
   * subject.
   */
  async list(caller: Caller, page: PageRequest, where: { subjectId?: string } = {}): Promise<Page<EhrView>> {
    const [{ items, ...rest }, anonymizedIds] = await Promise.all([
      this.#list(caller, page, where),
      findAnonymizedEhrs(this.#context, caller),
    ])
    return { ...rest, items: items.map((ehr) => hideSubject(ehr, anonymizedIds)) }
  }

  async #list(caller: Caller, page: PageRequest, where: { subjectId?: string }): Promise<Page<StoredEhr>> {
    const ownEhrId = await findOwnEhrId(this.#context, caller)
    if (ownEhrId === undefined) return this.store.list(caller, 'newest', { where, ...page })
    return listOwnFirst(
      page,
      () => this.store.list(caller, 'newest', { where: { ...where, id: ownEhrId }, limit: 1 }),
      (otherPage) =>
        this.store.list(caller, 'newest', { where: { ...where, id: { not: ownEhrId } }, ...otherPage }),
    )
  }

  /** Lists the EHRs about the caller, in the same order. */
  async listAboutCaller(caller: Caller): Promise<EhrView[]> {
    return (await this.list(caller, { limit: 1000 }, { subjectId: caller.userId })).items
  }

  /** @throws NotFound */
  get(caller: Caller, id: string): Promise<StoredEhr> {
    return this.store.get(caller, { id })
  }

  /** Whether the caller may read the EHR; not audited. */
  isReadable(caller: Caller, id: string): Promise<boolean> {
    return canRead(this.#context, caller, 'Ehr', { _id: id })
  }

  /** Lists the EHRs that await the caller's acceptance, newest first, without their contents. */
  listPending(caller: Caller, page: PageRequest): Promise<Page<StoredEhr>> {
    const where = { subjectId: caller.userId, pending: true }
    return this.store.list(asUnrestricted(caller), 'pending', { where, ...page })
  }

  /** Finds the newest EHR about a subject that the caller may read, and whose subject they see. @throws NotFound */
  async findAboutSubject(caller: Caller, subjectId: string): Promise<StoredEhr> {
    const anonymizedIds = await findAnonymizedEhrs(this.#context, caller)
    const page = { where: { subjectId }, limit: anonymizedIds.size + 1 }
    const { items } = await this.store.list(caller, 'aboutSubject', page)
    const ehr = items.find(({ id }) => !anonymizedIds.has(id))
    if (!ehr) throw new ServiceError('NotFound')
    return ehr
  }

  /**
   * Creates an EHR about a subject about whom the caller can write none yet.
   * @throws Conflict otherwise, and when the id is taken; as create
   */
  async createOnly(
    caller: Caller,
    subjectId: string,
    id: string,
    keep: (tx: Transaction, permissions: Permissions) => Promise<void>,
  ): Promise<StoredEhr> {
    return (await this.#insert(caller, subjectId, id, keep, true)).record
  }

  /**
   * Creates an EHR by the rules of {@link prepareEhrCreation}.
   * @param keep writes further records in the same transaction
   * @throws RuleViolated when the caller has created too many EHRs
   */
  create(
    caller: Caller,
    subjectId: string,
    id: string,
    keep?: (tx: Transaction, permissions: Permissions) => Promise<void>,
  ): Promise<StoredEhr> {
    return createOrFindExisting(
      async () => (await this.#insert(caller, subjectId, id, keep)).record,
      // An administrator may lack access to an EHR that they created for somebody else.
      () => this.get(isAdmin(caller) ? asUnrestricted(caller) : caller, id),
    )
  }

  /** Creates an object of the class family. @throws as create */
  async createObject(
    caller: Caller,
    { subjectId }: Readonly<Record<string, unknown>>,
    id: string,
  ): Promise<ParseDocument> {
    return (await this.#insert(caller, String(subjectId), id)).document
  }

  /** Changes nothing: an EHR has no property that clients change. @throws NotFound; Forbidden; PreconditionFailed */
  async updateObject(
    caller: Caller,
    id: string,
    _update: unknown,
    expected: ExpectedVersions,
  ): Promise<ParseDocument> {
    const options = { expected, skipUnchanged: true }
    return (await this.store.updateUnaudited(caller, { id }, (current) => current, options)).document
  }

  #insert(
    caller: Caller,
    subjectId: string,
    id: string,
    keep?: (tx: Transaction, permissions: Permissions) => Promise<void>,
    isOnly = false,
  ): Promise<WrittenRecord<typeof EhrForms.record>> {
    const work = async (tx: Transaction) => {
      const ehr = { _id: id, subjectId }
      if (isOnly) await this.#requireOnly(tx, caller, ehr)
      const { permissions, ...fields } = await prepareEhrCreation(this.#context, tx, caller, ehr)
      await keep?.(tx, permissions)
      return this.store.insert(caller, { subjectId, ...fields }, permissions, { tx, id })
    }
    const queueFor = ehrCreationQueue(caller)
    return runStoreTransaction(this.#context, work, { queueFor }).catch(throwConflict)
  }

  /** @throws Conflict when the id is that of a deleted EHR, or the caller may write an EHR about the subject */
  async #requireOnly(
    { session }: Transaction,
    caller: Caller,
    { _id, subjectId }: { _id: string; subjectId: string },
  ): Promise<void> {
    if (await deletedEhrsOf(this.#context).findOne({ _id }, { session, projection: { _id: 1 } }))
      throw new ServiceError('Conflict', { detail: 'An EHR with this id has been deleted.' })
    const writable = { subjectId, ...permissionFilter('_wperm', caller) } as Filter<ParseDocument>
    if (await documentCollection(this.#context, 'Ehr').findOne(writable, { session, projection: { _id: 1 } }))
      throw new ServiceError('Conflict', { detail: 'You already have an EHR about this subject.' })
  }

  /**
   * Accepts an EHR that somebody else created about the caller. From then on the caller reads and writes it
   * and all its records, including history and audit. Repeating it changes nothing.
   * @throws NotFound; Forbidden for a reader who is not its subject
   */
  async accept(caller: Caller, id: string): Promise<StoredEhr> {
    const subjectId = caller.userId
    const acceptedEhr = await runStoreTransaction(this.#context, async (tx) => {
      const pending = !caller.helper && (await findPendingEhr(this.#context, subjectId, id, tx.session))
      if (!pending) return
      const permissions = ehrPermissions(pending)
      const accept = (current: StoredEhr) => ({ ...current, pending: false })
      const ehr = await this.store.update(asUnrestricted(caller), { id }, accept, { tx, permissions })
      await grantSubjectAccess(this.#context, tx, { ehrId: id, subjectId })
      return ehr
    })
    if (acceptedEhr) return acceptedEhr
    const ehr = await this.store.find(caller, { id })
    if (ehr && (caller.helper || ehr.subjectId !== subjectId)) await this.#refuse(caller, id, 'update')
    return this.get(caller, id)
  }

  /**
   * Soft-deletes an EHR with all its records, immediately and for everyone. An administrator can restore it
   * for 30 days. A subject who declines a pending EHR deletes it in the same way.
   * @throws NotFound; Forbidden for a caller who does not manage it; PreconditionFailed
   */
  remove(caller: Caller, id: string, expected: ExpectedVersions): Promise<void> {
    return this.store.auditRefusal(caller, 'delete', { id }, () => this.removeObject(caller, id, expected))
  }

  /** Soft-deletes an object of the class family. @throws as remove */
  async removeObject(caller: Caller, id: string, expected: ExpectedVersions): Promise<void> {
    await runStoreTransaction(this.#context, async (tx) => {
      const declines = isAdmin(caller) || (await isPendingFor(this.#context, caller.userId, id, tx.session))
      const permittedCaller = declines ? asUnrestricted(caller) : caller
      const ehr = await this.store.find(permittedCaller, { id }, { tx })
      if (!ehr) throw new ServiceError('NotFound')
      if (!canManageEhr(permittedCaller, ehr))
        throw new ServiceError('Forbidden', { detail: EHR_DELETION_REFUSAL })
      await softDeleteEhrContents(this.#context, tx, permittedCaller, { ehrId: id, subjectId: ehr.subjectId })
      await this.store.removeUnaudited(permittedCaller, { id }, { tx, expected })
    })
    await waitUntilHidden(this.#context, id)
  }

  /**
   * Lists the accesses to an EHR, newest first, including those of the caller. Administrators can also list
   * those of a deleted EHR.
   * @throws NotFound; Forbidden for a caller who does not manage it
   */
  async listAccesses(
    caller: Caller,
    ehrId: string,
    page: PageRequest,
    filter: AccessFilter = {},
  ): Promise<Page<AuditEntry>> {
    const { db, audit } = this.#context
    if (!isAdmin(caller)) {
      const ehr = (await this.store.find(caller, { id: ehrId })) ?? (await this.get(caller, ehrId))
      if (!canManageEhr(caller, ehr)) await this.#refuse(caller, ehrId, 'query')
      await audit.record(...accessesByEhr(EHR_RESOURCE, caller, { action: 'read' }, [ehr]))
      return listAccesses(db, { ehrId, createdAt: new Date(ehr.createdAt) }, page, filter)
    }
    // Entries of queries over all EHRs must not reveal that this EHR existed.
    const entriesOfEhr = { ehrId, createdAt: this.#context.clock() }
    if ((await listAccesses(db, entriesOfEhr, { limit: 1 })).items.length > 0) {
      await audit.record(...accessesByEhr(EHR_RESOURCE, caller, { action: 'query' }, [{ id: ehrId }]))
    } else await this.get(asUnrestricted(caller), ehrId)
    const ehr = await documentCollection({ db }, 'Ehr').findOne({ _id: ehrId })
    return listAccesses(db, { ehrId, createdAt: ehr?._created_at }, page, filter)
  }

  /** Lists the EHRs that an administrator can restore, the last deleted one first, without their contents. */
  async listDeleted(caller: Caller, page: PageRequest): Promise<Page<DeletedEhr>> {
    const deletedPage = await listDeletedEhrs(this.#context, page)
    const ehrs = deletedPage.items.map(({ _id }) => ({ id: _id }))
    await this.#context.audit.record(...accessesByEhr(EHR_RESOURCE, caller, { action: 'query' }, ehrs))
    return deletedPage
  }

  /**
   * Restores an EHR that was deleted less than 30 days ago.
   * @param isRetry an earlier attempt of the same request may have restored it
   * @throws NotFound
   */
  async restore(caller: Caller, id: string, isRetry: boolean): Promise<StoredEhr> {
    const unrestrictedCaller = asUnrestricted(caller)
    const restoration = runStoreTransaction(this.#context, (tx) =>
      restoreDeletedEhr(this.#context, tx, unrestrictedCaller, id),
    )
    await restoration.catch((error) => {
      if (!(isRetry && error instanceof ServiceError)) throw error
    })
    await waitForJob(this.#context, { field: 'ehrId', id })
    return this.get(unrestrictedCaller, id)
  }

  /** Deletes the list of created EHRs of an account that ends; the EHRs stay. */
  async forgetCreator(session: ClientSession, userId: string): Promise<void> {
    await ehrCreatorsOf(this.#context).deleteOne({ _id: userId }, { session })
  }

  /** @throws Forbidden, after auditing the refusal */
  async #refuse(caller: Caller, id: string, action: 'query' | 'update'): Promise<never> {
    const access = { action, outcome: 'refused' } as const
    await this.#context.audit.record(...accessWithoutRecords(EHR_RESOURCE, caller, access, { id }))
    throw new ServiceError('Forbidden')
  }
}
