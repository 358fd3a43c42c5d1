import type { ClientSession, Collection, Db } from 'mongodb'
import { ServiceError } from '../../schemas/errors.ts'
import { DAY_MS } from '../../schemas/time/durations.ts'
import { DELETION_WAIT_TIMEOUT_MS } from '../ehrs/deletion/cascading-deletion.ts'
import { removeUserFromRoles } from '../ehrs/rights/roles.ts'
import { type Caller, serviceCaller } from '../store/documents/caller.ts'
import { UNSEEN_JOB } from '../store/documents/job.ts'
import { enqueueJob, type JobHandler, type JobHandlers, jobId } from '../store/jobs/background-jobs.ts'
import { runEach, throwErrors } from '../store/jobs/due-records.ts'
import type { ExpectedVersions } from '../store/write-decider.ts'
import { deleteHistory } from '../store/writing/history.ts'
import { runStoreTransaction, type StoreContext, type Transaction } from '../store/writing/transaction.ts'
import type { EmailChanges } from './email-changes.ts'
import { identityLinksOf } from './login/identities.ts'
import type { Sessions } from './login/sessions.ts'
import {
  ACTIVATION_PERIOD_DAYS,
  isAbandonedRegistration,
  isAccountUsed,
  isUnactivated,
} from './registration/unactivated-accounts.ts'
import { accountHistoryEntry } from './user/account-history.ts'
import { ACCOUNT_STATE_FILTERS, lockAccount, requireVersion, type User, usersOf } from './user/user.ts'

export interface AccountDeletionDependencies {
  context: StoreContext
  sessions: Sessions
  emailChanges: EmailChanges
  /** Deletes the queued mails to an account, at these addresses. */
  forgetMails(mvUid: string, addresses: readonly string[], session: ClientSession): Promise<void>
  /** Deletes the data that belongs to an account, such as the profile, in the same transaction. @see accountErasureJobs */
  cleanups: readonly ((session: ClientSession, mvUid: string) => Promise<void>)[]
}

/** A deleted account whose requests may still store data. */
interface DeletedAccount {
  _id: string
  deletedAt: Date
}

export const deletedAccountsOf = (db: Db): Collection<DeletedAccount> =>
  db.collection<DeletedAccount>('auth.deleted_accounts')

/** Has the rest of an account erased that was deleted long ago. */
export async function recordDeletedAccount(db: Db, mvUid: string): Promise<void> {
  const first = { $setOnInsert: { deletedAt: new Date(0) } }
  await deletedAccountsOf(db).updateOne({ _id: mvUid }, first, { upsert: true })
}

/** Other instances know a session for 5 s after its end. MongoDB ends a transaction after 60 s. */
const LATE_WRITE_PERIOD_MS = 120_000

/** The caller of deletions by the service itself; the history names it. */
const deletingCaller: Caller = { ...serviceCaller, userId: 'service' }

export class AccountDeletion {
  readonly #parts: AccountDeletionDependencies

  constructor(parts: AccountDeletionDependencies) {
    this.#parts = parts
  }

  /** Deletes an account and the person's own data; EHRs stay. @throws NotFound, PreconditionFailed */
  async remove(caller: Caller, mvUid: string, expected: ExpectedVersions): Promise<void> {
    await this.#remove(caller, mvUid, async (user) => requireVersion(user, expected))
    await this.#parts.context.jobs.waitUntilDone(jobId(erasureJobOf(mvUid)), DELETION_WAIT_TIMEOUT_MS)
  }

  /**
   * Deletes an abandoned registration.
   * @returns whether the account is gone; false: it is more than a registration
   */
  async removeAbandonedRegistration(mvUid: string): Promise<boolean> {
    const { context } = this.#parts
    return this.#removeIf(mvUid, (user, session) => isAbandonedRegistration(context, session, user))
  }

  /**
   * Deletes accounts that were not activated in time, so that nobody can block another person's address for
   * good.
   * @throws AggregateError with the errors of those that failed, after all others
   */
  async removeExpiredAccounts(): Promise<void> {
    const { db, clock } = this.#parts.context
    const before = new Date(clock().getTime() - ACTIVATION_PERIOD_DAYS * DAY_MS)
    const isLate = async (user: User, session: ClientSession) =>
      isUnactivated(user) &&
      (user.invitedAt ?? before) <= before &&
      !(await isAccountUsed(db, user._id, session))
    const unactivatedUsers = usersOf(db).find({
      ...ACCOUNT_STATE_FILTERS.ACTIVATION_PENDING,
      _created_at: { $lt: before },
    })
    const ids = unactivatedUsers.map(({ _id }) => _id)
    const errors = await runEach(ids, (id) => this.#removeIf(id, isLate))
    throwErrors(errors, 'Some unconfirmed accounts could not be removed.')
  }

  /** Erases what requests have stored since the deletion of their account. @throws AggregateError as removeExpiredAccounts */
  async eraseLateWrites(): Promise<void> {
    const { context, sessions } = this.#parts
    const deletedAccounts = deletedAccountsOf(context.db)
    const deletedAt = { $lte: new Date(context.clock().getTime() - LATE_WRITE_PERIOD_MS) }
    const ids = deletedAccounts.find({ deletedAt }).map(({ _id }) => _id)
    const errors = await runEach(ids, async (mvUid) => {
      await sessions.endAll(mvUid)
      await runStoreTransaction(context, async (tx) => {
        await this.#erase(tx, deletingCaller, mvUid)
        await deletedAccounts.deleteOne({ _id: mvUid }, { session: tx.session })
      })
    })
    throwErrors(errors, 'Some late writes of deleted accounts could not be erased.')
  }

  async #removeIf(
    mvUid: string,
    holds: (user: User, session: ClientSession) => Promise<boolean>,
  ): Promise<boolean> {
    const refuse = async (user: User, session: ClientSession) => {
      if (!(await holds(user, session))) throw new ServiceError('Conflict')
    }
    try {
      await this.#remove(deletingCaller, mvUid, refuse)
      return true
    } catch (error) {
      if (error instanceof ServiceError && error.error === 'NotFound') return true
      if (error instanceof ServiceError && error.error === 'Conflict') return false
      throw error
    }
  }

  async #remove(
    caller: Caller,
    mvUid: string,
    refuse: (user: User, session: ClientSession) => Promise<void>,
  ): Promise<void> {
    const { context, sessions, emailChanges, forgetMails } = this.#parts
    const { db } = context
    const pendingAddresses = [...(await emailChanges.findPending([mvUid])).values()]
    await runStoreTransaction(context, async (tx) => {
      const { session, changes } = tx
      await lockAccount(context, tx, mvUid)
      const user = await usersOf(db).findOne({ _id: mvUid }, { session })
      if (!user) throw new ServiceError('NotFound')
      await refuse(user, session)
      await usersOf(db).deleteOne({ _id: mvUid }, { session })
      await forgetMails(mvUid, [user.email, ...pendingAddresses], session)
      await this.#erase(tx, caller, mvUid)
      await deleteHistory(db, { collection: '_User', id: mvUid }, session)
      const at = context.clock()
      const removal = { action: 'delete' as const, before: null, changed: [] }
      changes.push(accountHistoryEntry(user, { caller, at }, removal))
      await deletedAccountsOf(db).insertOne({ _id: mvUid, deletedAt: at }, { session })
    })
    await sessions.endAll(mvUid)
  }

  /** Erases what belongs to the account. A job erases what other people's records say about it. */
  async #erase(tx: Transaction, caller: Caller, mvUid: string): Promise<void> {
    const { context, emailChanges, cleanups } = this.#parts
    const { session } = tx
    await removeUserFromRoles(context, session, mvUid)
    await identityLinksOf(context.db).deleteMany({ mvUid }, { session })
    await emailChanges.cancel(mvUid, session)
    for (const remove of cleanups) await remove(session, mvUid)
    await enqueueJob(context, tx, caller, erasureJobOf(mvUid))
  }
}

const erasureJobOf = (mvUid: string) =>
  ({ ...UNSEEN_JOB, job: 'eraseAccount', field: 'userId', id: mvUid }) as const

/**
 * The job that changes what other people's records say about a deleted account, since that may be too much for one
 * transaction.
 * @param erasures run one after the other, and again after an interruption
 */
export const accountErasureJobs = (context: StoreContext, erasures: readonly JobHandler[]): JobHandlers => ({
  async eraseAccount(job, steps) {
    for (const erase of erasures) await erase(job, steps)
    // A participation may have begun before it was archived.
    await steps.runLastStep(({ session }) => removeUserFromRoles(context, session, job.id))
  },
})
