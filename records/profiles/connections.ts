import { type Static, Type } from '@sinclair/typebox'
import type { ClientSession } from 'mongodb'
import { ConnectionStateEnum } from '../../schemas/enums.ts'
import { ServiceError } from '../../schemas/errors.ts'
import type { Connection } from '../../schemas/profiles/connection.ts'
import { lockAccount, usersOf } from '../accounts/user/user.ts'
import { networkRole } from '../ehrs/rights/access.ts'
import { isExistingRole, setRole } from '../ehrs/rights/roles.ts'
import { type Caller, serviceCaller } from '../store/documents/caller.ts'
import type { SavedRecord } from '../store/documents/parse-format.ts'
import type { Page, PageRequest } from '../store/reading/pages.ts'
import { Store } from '../store/store.ts'
import type { ExpectedVersions } from '../store/write-decider.ts'
import { findFirstVersion } from '../store/writing/history.ts'
import { runStoreTransaction, type StoreContext, type Transaction } from '../store/writing/transaction.ts'
import { ownedRecordId, privatePermissions } from './storage/owner.ts'
import { PROFILE_COLLECTIONS } from './storage/profile-collections.ts'
import { lockProfile } from './storage/profile-lock.ts'

const StoredConnection = Type.Object({
  mvUid: Type.String(),
  other: Type.String(),
  state: ConnectionStateEnum,
})
type StoredConnection = Static<typeof StoredConnection>

/** Connections between users. Each side has its own record; one transaction always writes both. */
export class Connections {
  readonly #context: StoreContext
  readonly store

  constructor(context: StoreContext) {
    this.#context = context
    this.store = new Store(context, {
      collection: PROFILE_COLLECTIONS.connection,
      schema: StoredConnection,
      lists: { own: { requiredFields: ['mvUid'], sort: 'createdAt', order: 'asc' } },
    })
  }

  list(caller: Caller, mvUid: string, page: PageRequest): Promise<Page<SavedRecord<StoredConnection>>> {
    return this.store.list(caller, 'own', { where: { mvUid }, ...page })
  }

  /** @throws NotFound */
  get(caller: Caller, mvUid: string, other: string) {
    return this.store.get(caller, { id: ownedRecordId(mvUid, other) })
  }

  async areConnected(mvUid: string, other: string, tx?: Transaction): Promise<boolean> {
    const state = 'CONNECTED'
    const connection = await this.#find(serviceCaller, mvUid, { state, id: ownedRecordId(mvUid, other) }, tx)
    return connection !== undefined
  }

  /** The ones of the users whose names the caller may read: connected ones, and the caller; for a helper none. */
  async findKnown({ userId: mvUid, helper }: Caller, users: readonly string[]): Promise<Set<string>> {
    if (helper) return new Set()
    const ids = users.map((other) => ownedRecordId(mvUid, other))
    const where = { mvUid, state: 'CONNECTED' as const, id: { in: ids } }
    const { items } = await this.store.list(serviceCaller, 'own', { where, limit: Math.max(ids.length, 1) })
    return new Set([...users.filter((one) => one === mvUid), ...items.map(({ other }) => other)])
  }

  /** Lists the connected users of the caller. */
  async listConnected(caller: Caller, limit: number): Promise<Page<string>> {
    const where = { mvUid: caller.userId, state: 'CONNECTED' as const }
    const { items, ...rest } = await this.store.list(caller, 'own', { where, limit })
    return { ...rest, items: items.map(({ other }) => other) }
  }

  /** Lets two users read what they say to each other while they are connected. @throws NotFound */
  async letTalk(tx: Transaction, mvUid: string, other: string): Promise<void> {
    await this.#lockProfiles(tx, mvUid, other)
    if (!(await this.areConnected(mvUid, other, tx))) throw new ServiceError('NotFound')
    await this.#setRole(tx, mvUid, other, true)
  }

  /**
   * Requests a connection with the other user, or accepts the other's request; a repeated call changes
   * nothing.
   * @throws RuleViolated when the other user does not exist or is the same one
   */
  async request(caller: Caller, mvUid: string, other: string) {
    const message = other === mvUid ? 'must be another user' : 'must be a user of this service'
    return runStoreTransaction(this.#context, async (tx) => {
      await lockAccount(this.#context, tx, other)
      if (other === mvUid || !(await isExistingUser(this.#context, other, tx.session)))
        throw new ServiceError('RuleViolated', { violations: [{ path: 'mvUid', code: 'user', message }] })
      await this.#lockProfiles(tx, mvUid, other)
      const mine = await this.#find(caller, mvUid, { id: ownedRecordId(mvUid, other) }, tx)
      if (mine === undefined) return this.#createRequest(caller, tx, mvUid, other)
      return mine.state === 'PENDING_IN' ? this.#accept(caller, tx, mvUid, other) : mine
    })
  }

  /** Ends a connection, or a request for one, for both sides. @throws NotFound; PreconditionFailed */
  end(caller: Caller, mvUid: string, other: string, expected: ExpectedVersions): Promise<void> {
    return runStoreTransaction(this.#context, async (tx) => {
      await this.#lockProfiles(tx, mvUid, other)
      await this.store.remove(caller, { id: ownedRecordId(mvUid, other) }, { tx, expected })
      await this.store.remove(asOtherSide(caller), { id: ownedRecordId(other, mvUid) }, { tx })
      await this.#setRole(tx, mvUid, other, false)
    })
  }

  async #createRequest(caller: Caller, tx: Transaction, mvUid: string, other: string) {
    // The history continues after a former connection: clients may still have its ETags.
    const create = async (owner: string, otherUserId: string, state: StoredConnection['state']) => {
      const id = ownedRecordId(owner, otherUserId)
      const record = { collection: PROFILE_COLLECTIONS.connection, id }
      const first = await findFirstVersion(this.#context.db, record, tx)
      const fields = { mvUid: owner, other: otherUserId, state }
      return this.store.create(caller, fields, privatePermissions(owner), { tx, id, ...first })
    }
    await create(other, mvUid, 'PENDING_IN')
    return create(mvUid, other, 'PENDING_OUT')
  }

  async #accept(caller: Caller, tx: Transaction, mvUid: string, other: string) {
    const connect = (current: StoredConnection) => ({ ...current, state: 'CONNECTED' as const })
    await this.store.update(asOtherSide(caller), { id: ownedRecordId(other, mvUid) }, connect, { tx })
    const haveTalked = await isExistingRole(this.#context, tx.session, networkRole(mvUid, other))
    if (haveTalked) await this.#setRole(tx, mvUid, other, true)
    return this.store.update(caller, { id: ownedRecordId(mvUid, other) }, connect, { tx })
  }

  async #setRole({ session }: Transaction, mvUid: string, other: string, isMember: boolean): Promise<void> {
    for (const userId of [mvUid, other])
      await setRole(this.#context, session, userId, networkRole(mvUid, other), isMember)
  }

  /** Locks in the order of the ids, so that two transactions cannot wait for each other. */
  async #lockProfiles(tx: Transaction, ...sides: [string, string]): Promise<void> {
    for (const mvUid of sides.sort()) await lockProfile(this.#context, tx, mvUid)
  }

  async #find(
    caller: Caller,
    mvUid: string,
    key: { id: string; state?: Connection['state'] },
    tx?: Transaction,
  ) {
    const { items } = await this.store.list(caller, 'own', { where: { mvUid, ...key }, limit: 1 }, { tx })
    return items[0]
  }
}

/** The caller, permitted to write the other side's record; the history still names the caller. */
const asOtherSide = (caller: Caller): Caller => ({ ...caller, unrestricted: true })

/** Whether an account has this id. */
export async function isExistingUser(
  { db }: Pick<StoreContext, 'db'>,
  mvUid: string,
  session?: ClientSession,
): Promise<boolean> {
  const options = { projection: { _id: 1 }, ...(session && { session }) }
  return (await usersOf(db).findOne({ _id: mvUid }, options)) !== null
}
