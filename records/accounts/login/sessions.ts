import type { ClientSession, Collection, Db } from 'mongodb'
import type { ActingHelper } from '../../../schemas/accounts/helper.ts'
import type { Session } from '../../../schemas/accounts/login.ts'
import { MINUTE_MS } from '../../../schemas/time/durations.ts'
import { findRolesOfUser } from '../../ehrs/rights/roles.ts'
import { type Database, isDuplicateKeyError } from '../../store/documents/database.ts'
import { newId } from '../../store/documents/ids.ts'
import { syncIndexes } from '../../store/documents/indexes.ts'
import { decodeCursor } from '../../store/reading/cursor.ts'
import { createPage, type PageRequest } from '../../store/reading/pages.ts'
import { ReadCache } from '../../store/reading/read-cache.ts'
import { helperAgreementsOf, isInForce, type Parties } from '../helpers/helper-agreement.ts'
import type { Credentials } from '../user/credentials.ts'
import { newSecret } from '../user/secret.ts'
import { isDisabled, usersOf } from '../user/user.ts'
import { refreshTokensOf } from './refresh-tokens.ts'

/** A session as Parse Server stores it; the last three fields are ours. */
interface StoredSession {
  _id: string
  _session_token: string
  _p_user: string
  expiresAt?: Date
  _created_at: Date
  device?: string
  lastUsedAt?: Date
  /** Set for a session in which a helper acts for its user. */
  helper?: HelperSession
}

/** It lasts as long as the helper's own session and the agreement. */
interface HelperSession {
  helperId: string
  /** The helper's own session. */
  sid: string
  agreementId: string
}

/** A session that has not ended. */
export interface ActiveSession {
  sid: string
  mvUid: string
  sessionToken: string
  expiresAt: Date
}

/** The facts about a session that the path family needs for every request. */
export interface SessionIdentity {
  mvUid: string
  roles: readonly string[]
  /** Set when a helper acts for the user; such a session has none of the user's roles. */
  helper?: ActingHelper
}

/**
 * A session ends after this time without use; Parse Server's `sessionLength` sets the same for a new session.
 */
export const SESSION_IDLE_TIMEOUT_S = 12 * 3600
/** A session ends after this time, however often it is used. */
const SESSION_LIFETIME_MS = 30 * 24 * 60 * MINUTE_MS

/** The lifetime of a session without use, and its maximum. */
export interface SessionLimits {
  idleMs: number
  lifetimeMs: number
}

const USUAL_LIMITS: SessionLimits = { idleMs: SESSION_IDLE_TIMEOUT_S * 1000, lifetimeMs: SESSION_LIFETIME_MS }

/** For this long after a login, the password is not asked for again. */
const FRESH_LOGIN_MS = 10 * MINUTE_MS
/**
 * An end of a session by another instance takes effect here after this time; with its consequences within 5
 * s.
 */
const SESSION_CACHE_TTL_MS = 4_000

const SESSION_LIST = 'sessions'

/** Parse Server requires the first two characters. */
const HELPER_TOKEN_PREFIX = 'r:helper-'

/** Whether a class-family token is that of a helper who acts for somebody; no other token has this form. */
export const isHelperToken = (sessionToken: string | undefined): boolean =>
  sessionToken?.startsWith(HELPER_TOKEN_PREFIX) === true

/** Parse Server's `createdWith.authProvider` of a session that an external identity began. */
export const IDENTITY_LOGIN = 'oidc'

/** That of a session that a person began for an app. */
const APP_LOGIN = 'app'
/** A person who has logged in for an app decides within this time. */
export const APP_DECISION_TIMEOUT_MS = 10 * MINUTE_MS

/** The sessions that a person began and uses. Helpers and apps have sessions of their own, and are listed as such. */
export const OWN_SESSIONS = { helper: { $exists: false }, 'createdWith.authProvider': { $ne: APP_LOGIN } }

export const userPointer = (mvUid: string): string => `_User$${mvUid}`

/**
 * Parse Server's sessions. `sid`, the session's id, is part of the access token; ending a session voids its
 * tokens.
 */
export class Sessions {
  readonly #database: Database
  readonly #sessions: Collection<StoredSession>
  readonly #credentials: Pick<Credentials, 'forgetSessions'>
  readonly #clock: () => Date
  readonly #cache = new ReadCache<{ facts: SessionIdentity; expiresAt: Date }>({
    max: 10_000,
    ttl: SESSION_CACHE_TTL_MS,
  })

  constructor(database: Database, credentials: Pick<Credentials, 'forgetSessions'>, clock: () => Date) {
    this.#database = database
    this.#sessions = sessionsOf(database.db)
    this.#credentials = credentials
    this.#clock = clock
  }

  /** Creates the indexes of the sessions of helpers. */
  async prepare(): Promise<void> {
    await syncIndexes(this.#sessions, [
      { key: { 'helper.sid': 1 }, name: 'helper_sid', sparse: true },
      { key: { 'helper.helperId': 1 }, name: 'helper_helperId', sparse: true },
      // Concurrent requests of a helper begin the same session.
      {
        key: { 'helper.agreementId': 1, 'helper.sid': 1 },
        name: 'helper_agreement',
        unique: true,
        sparse: true,
      },
    ])
  }

  /** The owner of a session and their roles; undefined when it has ended. At most 5 s old. */
  async facts(sid: string): Promise<SessionIdentity | undefined> {
    const read = () => this.#readFacts(sid)
    const cachedSession = await this.#cache.get(sid, read)
    // Another instance may have extended it meanwhile.
    return (cachedSession && cachedSession.expiresAt <= this.#clock() ? await read() : cachedSession)?.facts
  }

  async #readFacts(sid: string): Promise<{ facts: SessionIdentity; expiresAt: Date } | undefined> {
    const session = await this.#sessions.findOne(this.#activeFilter({ _id: sid }))
    if (!session) return undefined
    const mvUid = sessionOwnerOf(session)
    const [isUsable, roles, helper] = await Promise.all([
      this.#hasUsableAccount(session),
      session.helper ? [] : findRolesOfUser(this.#database, mvUid),
      session.helper && this.#readHelper(session.helper),
    ])
    if (!isUsable || (session.helper && !helper)) return undefined
    const facts = { mvUid, roles, ...(helper && { helper }) }
    return { facts, expiresAt: this.#toActiveSession(session).expiresAt }
  }

  async #hasUsableAccount(session: StoredSession): Promise<boolean> {
    const ofOwner = { _id: sessionOwnerOf(session) }
    const user = await usersOf(this.#database.db).findOne(ofOwner, { projection: { _rperm: 1 } })
    return user !== null && !isDisabled(user)
  }

  /** The permissions of the helper with this class-family token; undefined when the token has ended. */
  async findHelper(sessionToken: string): Promise<ActingHelper | undefined> {
    const session = await this.findByToken(sessionToken)
    return session && (await this.facts(session.sid))?.helper
  }

  /** The permissions of a helper; undefined when their own session or the agreement has ended. */
  async #readHelper({ helperId, sid, agreementId }: HelperSession): Promise<ActingHelper | undefined> {
    const [helperSession, agreement] = await Promise.all([
      // Uncached, since these facts get into the cache themselves.
      this.#readFacts(sid),
      helperAgreementsOf(this.#database.db).findOne({ _id: agreementId }),
    ])
    if (helperSession?.facts.mvUid !== helperId || !agreement || !isInForce(agreement, this.#clock()))
      return undefined
    return { helperId, acts: agreement.acts }
  }

  /**
   * Begins a session in which a helper acts for a person, or extends the one of the same login.
   * @returns undefined when the helper's own session has ended
   */
  async beginHelperSession(
    sid: string,
    agreement: Parties & { id: string; until: string },
  ): Promise<ActiveSession | undefined> {
    const ownSession = await this.#sessions.findOne(this.#activeFilter({ _id: sid, ...OWN_SESSIONS }))
    if (!ownSession) return undefined
    const now = this.#clock()
    const ends = [this.#toActiveSession(ownSession).expiresAt, new Date(agreement.until)]
    const key = { 'helper.agreementId': agreement.id, 'helper.sid': sid }
    // A session that has ended never continues: its tokens would be valid again.
    await this.#sessions.deleteMany({ ...key, expiresAt: { $lte: now } })
    const change = {
      $set: { expiresAt: ends.reduce((a, b) => (a < b ? a : b)), lastUsedAt: now, _updated_at: now },
      $setOnInsert: {
        _id: newId(),
        _session_token: HELPER_TOKEN_PREFIX + newSecret(),
        _p_user: userPointer(agreement.mvUid),
        _created_at: now,
        restricted: false,
        createdWith: { action: 'login', authProvider: 'helper' },
        'helper.helperId': agreement.helperId,
      },
    }
    const begin = () =>
      this.#sessions.findOneAndUpdate(key, change, { upsert: true, returnDocument: 'after' })
    const session = await begin().catch((error: unknown) => {
      if (!isDuplicateKeyError(error)) throw error
      return begin()
    })
    return session ? this.#toActiveSession(session) : undefined
  }

  /** Clears the cache after sessions or roles have changed. */
  invalidateCache(): void {
    this.#cache.clear()
  }

  /** Records the device of a new session; undefined when it has ended. */
  async recordDevice(sessionToken: string, device: string): Promise<ActiveSession | undefined> {
    const lastUsedAt = this.#clock()
    const session = await this.#sessions.findOneAndUpdate(
      { _session_token: sessionToken },
      { $set: { device, lastUsedAt } },
      { returnDocument: 'after' },
    )
    return session ? this.#toActiveSession(session) : undefined
  }

  /** Makes a session that has just begun that of an app. It ends soon, unless the person authorizes the app. */
  async reserveForApp(sessionToken: string, appName: string): Promise<ActiveSession | undefined> {
    const session = await this.#sessions.findOneAndUpdate(
      { _session_token: sessionToken },
      {
        $set: {
          device: appName,
          'createdWith.authProvider': APP_LOGIN,
          expiresAt: new Date(this.#clock().getTime() + APP_DECISION_TIMEOUT_MS),
        },
      },
      { returnDocument: 'after' },
    )
    return session ? this.#toActiveSession(session) : undefined
  }

  /** Extends a session; undefined when it has ended, or its account is disabled. */
  async extend(
    sid: string,
    { idleMs, lifetimeMs }: SessionLimits = USUAL_LIMITS,
  ): Promise<ActiveSession | undefined> {
    const now = this.#clock()
    const session = await this.#sessions.findOne(this.#activeFilter({ _id: sid }))
    if (!session || !(await this.#hasUsableAccount(session))) return undefined
    const expiresAt = new Date(Math.min(now.getTime() + idleMs, session._created_at.getTime() + lifetimeMs))
    const { matchedCount } = await this.#sessions.updateOne(
      { _id: sid },
      { $set: { expiresAt, lastUsedAt: now } },
    )
    return matchedCount === 0 ? undefined : this.#toActiveSession({ ...session, expiresAt })
  }

  /** Whether the login was a few minutes ago, so that the caller has just proved to know the password. */
  async isFresh(sid: string): Promise<boolean> {
    const since = new Date(this.#clock().getTime() - FRESH_LOGIN_MS)
    return (await this.#sessions.findOne({ _id: sid, _created_at: { $gt: since }, ...OWN_SESSIONS })) !== null
  }

  /** The id of the session of a class-family token. */
  async findSid(sessionToken: string): Promise<string | undefined> {
    return (await this.#sessions.findOne({ _session_token: sessionToken }))?._id
  }

  /** The session of a class-family token, unless it has ended. */
  async findByToken(sessionToken: string): Promise<(ActiveSession & { createdAt: Date }) | undefined> {
    const session = await this.#sessions.findOne(this.#activeFilter({ _session_token: sessionToken }))
    return session ? { ...this.#toActiveSession(session), createdAt: session._created_at } : undefined
  }

  /** The latest possible end of a session that begins now. */
  maxExpiry({ lifetimeMs }: SessionLimits = USUAL_LIMITS): Date {
    return new Date(this.#clock().getTime() + lifetimeMs)
  }

  /** The ones of these sessions that have not ended. */
  async findActive(sids: readonly string[]): Promise<Session[]> {
    const sessions = await this.#sessions.find(this.#activeFilter({ _id: { $in: [...sids] } })).toArray()
    return sessions.map((session) => this.#toSession(session, ''))
  }

  /** Lists a person's sessions, by id. @throws MalformedRequest for a cursor of another list */
  async list(mvUid: string, currentSid: string, { limit, cursor, count }: PageRequest) {
    const matching = this.#activeFilter({ _p_user: userPointer(mvUid), ...OWN_SESSIONS })
    const beyond = cursor === undefined ? {} : { _id: { $gt: decodeCursor(SESSION_LIST, cursor).id } }
    const sessions = await this.#sessions
      .find({ ...matching, ...beyond })
      .sort({ _id: 1 })
      .limit(limit + 1)
      .toArray()
    const total = count ? await this.#sessions.countDocuments(matching) : undefined
    const page = createPage(SESSION_LIST, sessions, limit, ({ _id }) => ({ value: null, id: _id }), total)
    return { ...page, items: page.items.map((session) => this.#toSession(session, currentSid)) }
  }

  /** @returns whether there was such a session */
  async end(mvUid: string, sid: string): Promise<boolean> {
    return (await this.#end({ _id: sid, _p_user: userPointer(mvUid) })) > 0
  }

  /** Ends a session without checking its owner, because its refresh token was stolen. */
  async revoke(sid: string): Promise<void> {
    await this.#end({ _id: sid })
  }

  /** Ends the session of a class-family token. */
  async revokeByToken(sessionToken: string): Promise<void> {
    await this.#end({ _session_token: sessionToken })
  }

  /** Ends all sessions of a user, also those in which they help others. */
  async endAll(mvUid: string): Promise<void> {
    await this.#end({ _p_user: userPointer(mvUid) })
    await this.#end({ 'helper.helperId': mvUid })
  }

  /** Ends the sessions that an external identity began, except a kept one. */
  async endOfIdentities(mvUid: string, keptSid?: string, session?: ClientSession): Promise<void> {
    const began = { 'createdWith.authProvider': IDENTITY_LOGIN }
    const otherSessions = keptSid === undefined ? {} : { _id: { $ne: keptSid } }
    await this.#end({ _p_user: userPointer(mvUid), ...began, ...otherSessions }, session ? { session } : {})
  }

  /** Runs work that ends all of a person's sessions, and then restores one of them. */
  async keepSessionDuring(sid: string, work: () => Promise<void>): Promise<void> {
    const session = await this.#sessions.findOne({ _id: sid })
    await work()
    if (session) await this.#sessions.replaceOne({ _id: sid }, session, { upsert: true })
  }

  async #end(filter: object, options: { session?: ClientSession } = {}): Promise<number> {
    const sessions = await this.#sessions.find(filter, { projection: { _id: 1 }, ...options }).toArray()
    const ended = { $in: sessions.map(({ _id }) => _id) }
    const { deletedCount } = await this.#sessions.deleteMany(filter, options)
    this.invalidateCache()
    // Parse Server may end a session without these. They are void all the same, see #readHelper.
    await this.#sessions.deleteMany({ 'helper.sid': ended }, options)
    await refreshTokensOf(this.#database.db).deleteMany({ sid: ended }, options)
    await this.#credentials.forgetSessions()
    return deletedCount
  }

  #activeFilter(filter: object): object {
    return { ...filter, $or: [{ expiresAt: { $gt: this.#clock() } }, { expiresAt: { $exists: false } }] }
  }

  #toSession(session: StoredSession, currentSid: string): Session {
    return {
      sid: session._id,
      current: session._id === currentSid,
      device: session.device || null,
      createdAt: session._created_at.toISOString(),
      lastUsedAt: (session.lastUsedAt ?? session._created_at).toISOString(),
      expiresAt: this.#toActiveSession(session).expiresAt.toISOString(),
    }
  }

  #toActiveSession(session: StoredSession): ActiveSession {
    return {
      sid: session._id,
      mvUid: sessionOwnerOf(session),
      sessionToken: session._session_token,
      expiresAt: session.expiresAt ?? this.maxExpiry(),
    }
  }
}

export const sessionsOf = (db: Db): Collection<StoredSession> => db.collection<StoredSession>('_Session')

const sessionOwnerOf = ({ _p_user }: StoredSession): string => _p_user.slice(userPointer('').length)
