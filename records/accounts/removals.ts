import type { ClientSession } from 'mongodb'
import { ServiceError } from '../../schemas/errors.ts'
import { leaveRoles } from '../ehrs/rights/roles.ts'
import type { Expected } from '../store/decisions.ts'
import type { Caller } from '../store/documents/caller.ts'
import { type Database, together } from '../store/documents/database.ts'
import { forgetChanges } from '../store/writing/history.ts'
import type { EmailChanges } from './email-changes.ts'
import { linksOf } from './login/identities.ts'
import type { Sessions } from './login/sessions.ts'
import { isBegun, isHalfRegistered, isUsed } from './standing.ts'
import { noteChange } from './user/changes.ts'
import { inState, requireVersion, type User, usersOf } from './user/user.ts'

export interface RemovalParts {
  database: Database
  sessions: Sessions
  emailChanges: EmailChanges
  clock: () => Date
  /** What goes with an account, in the same transaction: the profile, say, and all that hangs on it. */
  belongings: readonly ((session: ClientSession, mvUid: string) => Promise<void>)[]
}

/** Days for which an account waits to be activated. */
const pendingDays = 7

/** Who removes what nobody has confirmed. */
const service: Caller = {
  userId: 'service',
  roles: [],
  application: 'service',
  requestId: '',
  unrestricted: true,
}

/** How accounts end. */
export class Removals {
  readonly #parts: RemovalParts

  constructor(parts: RemovalParts) {
    this.#parts = parts
  }

  /** Removes an account and what is the person's own; EHRs stay. @throws NotFound, PreconditionFailed */
  async remove(caller: Caller, mvUid: string, expected: Expected): Promise<void> {
    await this.#remove(caller, mvUid, async (user) => requireVersion(user, expected))
  }

  /** Removes what somebody has begun and nobody has confirmed. @returns whether it was no more than that */
  async removeHalfRegistered(mvUid: string): Promise<boolean> {
    const { database } = this.#parts
    return this.#removeIf(mvUid, (user, session) => isHalfRegistered(database, session, user))
  }

  /** Removes the accounts that have not been activated in time: an address is not held for good by whoever names it. */
  async removeUnconfirmed(): Promise<void> {
    const before = new Date(this.#parts.clock().getTime() - pendingDays * 24 * 3_600_000)
    const { db } = this.#parts.database
    const isLate = async (user: User, session: ClientSession) =>
      isBegun(user) && (user.invitedAt ?? before) <= before && !(await isUsed(db, user._id, session))
    const late = usersOf(db).find({ ...inState.ACTIVATION_PENDING, _created_at: { $lt: before } })
    for await (const { _id } of late) await this.#removeIf(_id, isLate)
  }

  async #removeIf(
    mvUid: string,
    holds: (user: User, session: ClientSession) => Promise<boolean>,
  ): Promise<boolean> {
    const refuse = async (user: User, session: ClientSession) => {
      if (!(await holds(user, session))) throw new ServiceError('Conflict')
    }
    try {
      await this.#remove(service, mvUid, refuse)
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
    const { database, sessions, emailChanges, belongings, clock } = this.#parts
    const { db } = database
    await together(database, async (session) => {
      const user = await usersOf(db).findOne({ _id: mvUid }, { session })
      if (!user) throw new ServiceError('NotFound')
      await refuse(user, session)
      await usersOf(db).deleteOne({ _id: mvUid }, { session })
      await leaveRoles(database, session, mvUid)
      await linksOf(db).deleteMany({ mvUid }, { session })
      await emailChanges.cancel(mvUid, session)
      for (const remove of belongings) await remove(session, mvUid)
      await forgetChanges(db, { collection: '_User', id: mvUid }, session)
      const by = { caller, at: clock() }
      await noteChange(db, session, by, { action: 'delete', user, before: null, changed: [] })
    })
    await sessions.endAll(mvUid)
  }
}
