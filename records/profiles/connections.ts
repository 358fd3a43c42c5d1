import { type Static, Type } from '@sinclair/typebox'
import { ConnectionStateEnum } from '../../schemas/enum.ts'
import { ServiceError } from '../../schemas/errors.ts'
import type { Connection } from '../../schemas/network.ts'
import { usersOf } from '../accounts/user/user.ts'
import { pairRole } from '../ehrs/rights/access.ts'
import { isRole, setRole } from '../ehrs/rights/roles.ts'
import type { Expected } from '../store/decisions.ts'
import type { Caller } from '../store/documents/caller.ts'
import type { Saved } from '../store/documents/parse-format.ts'
import type { Page, PageOf } from '../store/reading/listing.ts'
import { Store } from '../store/store.ts'
import { inTransaction, type Records, type Transaction } from '../store/writing/transaction.ts'
import { collections } from './owner/collections.ts'
import { takeTurn } from './owner/ledger.ts'
import { asService, belongingId, privateTo } from './owner/owner.ts'

const StoredConnection = Type.Object({
  mvUid: Type.String(),
  other: Type.String(),
  state: ConnectionStateEnum,
})
type StoredConnection = Static<typeof StoredConnection>

/** Who is connected with whom. Each side has a record of its own; both are always written together. */
export class Connections {
  readonly #records: Records
  readonly store

  constructor(records: Records) {
    this.#records = records
    this.store = new Store(records, {
      collection: collections.connection,
      schema: StoredConnection,
      lists: { own: { by: ['mvUid'], sort: 'createdAt', order: 'asc' } },
    })
  }

  list(caller: Caller, mvUid: string, page: PageOf): Promise<Page<Saved<StoredConnection>>> {
    return this.store.list(caller, 'own', { where: { mvUid }, ...page })
  }

  /** @throws NotFound */
  get(caller: Caller, mvUid: string, other: string) {
    return this.store.get(caller, { id: belongingId(mvUid, other) })
  }

  async areConnected(mvUid: string, other: string, tx?: Transaction): Promise<boolean> {
    const state = 'CONNECTED'
    const found = await this.#find(asService, mvUid, { state, id: belongingId(mvUid, other) }, tx)
    return found !== undefined
  }

  /** Has two users read what they say to each other, as long as they are connected. @throws NotFound */
  async letTalk(tx: Transaction, mvUid: string, other: string): Promise<void> {
    await this.#takeTurns(tx, mvUid, other)
    if (!(await this.areConnected(mvUid, other, tx))) throw new ServiceError('NotFound')
    await this.#setRole(tx, mvUid, other, true)
  }

  /**
   * Requests a connection with the other user, or accepts the other's request; repeating it changes nothing.
   * @throws RuleViolated when the other is oneself or no user
   */
  async ask(caller: Caller, mvUid: string, other: string) {
    const message = other === mvUid ? 'must be somebody else' : 'must be a user of this service'
    if (other === mvUid || !(await isUser(this.#records, other))) {
      throw new ServiceError('RuleViolated', { violations: [{ path: 'mvUid', code: 'user', message }] })
    }
    return inTransaction(this.#records, async (tx) => {
      await this.#takeTurns(tx, mvUid, other)
      const mine = await this.#find(caller, mvUid, { id: belongingId(mvUid, other) }, tx)
      if (mine === undefined) return this.#begin(caller, tx, mvUid, other)
      return mine.state === 'PENDING_IN' ? this.#accept(caller, tx, mvUid, other) : mine
    })
  }

  /** Ends a connection, or the request for one, for both sides. @throws NotFound; PreconditionFailed */
  end(caller: Caller, mvUid: string, other: string, expected: Expected): Promise<void> {
    return inTransaction(this.#records, async (tx) => {
      await this.#takeTurns(tx, mvUid, other)
      await this.store.remove(caller, { id: belongingId(mvUid, other) }, { tx, expected })
      await this.store.remove(asOther(caller), { id: belongingId(other, mvUid) }, { tx })
      await this.#setRole(tx, mvUid, other, false)
    })
  }

  async #begin(caller: Caller, tx: Transaction, mvUid: string, other: string) {
    const theirs = { mvUid: other, other: mvUid, state: 'PENDING_IN' as const }
    await this.store.create(caller, theirs, privateTo(other), { tx, id: belongingId(other, mvUid) })
    const mine = { mvUid, other, state: 'PENDING_OUT' as const }
    return this.store.create(caller, mine, privateTo(mvUid), { tx, id: belongingId(mvUid, other) })
  }

  async #accept(caller: Caller, tx: Transaction, mvUid: string, other: string) {
    const connected = (now: StoredConnection) => ({ ...now, state: 'CONNECTED' as const })
    await this.store.update(asOther(caller), { id: belongingId(other, mvUid) }, connected, { tx })
    const haveTalked = await isRole(this.#records, tx.session, pairRole(mvUid, other))
    if (haveTalked) await this.#setRole(tx, mvUid, other, true)
    return this.store.update(caller, { id: belongingId(mvUid, other) }, connected, { tx })
  }

  async #setRole({ session }: Transaction, mvUid: string, other: string, held: boolean): Promise<void> {
    for (const userId of [mvUid, other])
      await setRole(this.#records, session, userId, pairRole(mvUid, other), held)
  }

  /** In the order of the ids, so that the two sides wait for each other and not both for one another. */
  async #takeTurns(tx: Transaction, ...sides: [string, string]): Promise<void> {
    for (const mvUid of sides.sort()) await takeTurn(this.#records, tx, mvUid)
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

/** The caller where the other side's record is written along; the history still says who did it. */
const asOther = (caller: Caller): Caller => ({ ...caller, unrestricted: true })

/** Whether there is an account with this id. */
export async function isUser({ db }: Records, mvUid: string): Promise<boolean> {
  return (await usersOf(db).findOne({ _id: mvUid }, { projection: { _id: 1 } })) !== null
}
