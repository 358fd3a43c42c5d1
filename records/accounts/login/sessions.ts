import { LRUCache } from 'lru-cache'
import type { Collection, Db } from 'mongodb'
import type { Session } from '../../../schemas/accounts/login.ts'
import { findRolesOfUser } from '../../ehrs/rights/roles.ts'
import type { Database } from '../../store/documents/database.ts'
import { decodeCursor } from '../../store/reading/cursor.ts'
import { createPage, type PageRequest } from '../../store/reading/pages.ts'
import type { Credentials } from '../user/credentials.ts'
import { isDisabled, usersOf } from '../user/user.ts'
import { refreshTokensOf } from './refresh-tokens.ts'

/** A session as Parse Server stores it; the last two fields are ours. */
interface StoredSession {
  _id: string
  _session_token: string
  _p_user: string
  expiresAt?: Date
  _created_at: Date
  device?: string
  lastUsedAt?: Date
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
}

const MINUTE_MS = 60_000
/**
 * A session ends after this time without use; Parse Server's `sessionLength` sets the same for a new session.
 */
export const SESSION_IDLE_TIMEOUT_S = 12 * 3600
/** A session ends after this time, however often it is used. */
const SESSION_LIFETIME_MS = 30 * 24 * 60 * MINUTE_MS

/** How long a session lives without use, and at most. */
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

/** Parse Server's `createdWith.authProvider` of a session that an external identity began. */
export const IDENTITY_LOGIN = 'oidc'

/** That of a session that a person began for an app. */
export const APP_LOGIN = 'app'

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
  readonly #cache = new LRUCache<string, SessionIdentity>({ max: 10_000, ttl: SESSION_CACHE_TTL_MS })
  /** Counts the changes, so that a value read before a change is not cached after it. */
  #changes = 0

  constructor(database: Database, credentials: Pick<Credentials, 'forgetSessions'>, clock: () => Date) {
    this.#database = database
    this.#sessions = sessionsOf(database.db)
    this.#credentials = credentials
    this.#clock = clock
  }

  /** The owner of a session and their roles; undefined when it has ended. At most 5 s old. */
  async facts(sid: string): Promise<SessionIdentity | undefined> {
    const cached = this.#cache.get(sid)
    if (cached) return cached
    const changes = this.#changes
    const session = await this.#sessions.findOne(this.#activeFilter({ _id: sid }))
    if (!session) return undefined
    const mvUid = sessionOwnerOf(session)
    const [user, roles] = await Promise.all([
      usersOf(this.#database.db).findOne({ _id: mvUid }, { projection: { _rperm: 1 } }),
      findRolesOfUser(this.#database, mvUid),
    ])
    if (!user || isDisabled(user)) return undefined
    const facts = { mvUid, roles }
    if (changes === this.#changes) this.#cache.set(sid, facts)
    return facts
  }

  /** Clears the cache after sessions or roles have changed. */
  invalidateCache(): void {
    this.#changes++
    this.#cache.clear()
  }

  /** Records the device of a new session. */
  async recordDevice(sessionToken: string, device: string): Promise<ActiveSession> {
    const lastUsedAt = this.#clock()
    const session = await this.#sessions.findOneAndUpdate(
      { _session_token: sessionToken },
      { $set: { device, lastUsedAt } },
      { returnDocument: 'after' },
    )
    if (!session) throw new Error('The session that has just begun is not there')
    return this.#toActiveSession(session)
  }

  /** Extends a session; undefined when it has ended. */
  async extend(
    sid: string,
    { idleMs, lifetimeMs }: SessionLimits = USUAL_LIMITS,
  ): Promise<ActiveSession | undefined> {
    const now = this.#clock()
    const session = await this.#sessions.findOne(this.#activeFilter({ _id: sid }))
    if (!session) return undefined
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
    return (await this.#sessions.findOne({ _id: sid, _created_at: { $gt: since } })) !== null
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

  /** Those of these sessions that have not ended. */
  async findActive(sids: readonly string[]): Promise<Session[]> {
    const found = await this.#sessions.find(this.#activeFilter({ _id: { $in: [...sids] } })).toArray()
    return found.map((session) => this.#toSession(session, ''))
  }

  /** Lists a person's sessions, by id. @throws MalformedRequest for a cursor of another list */
  async list(mvUid: string, currentSid: string, { limit, cursor, count }: PageRequest) {
    // A person ends an app where apps are listed.
    const matching = this.#activeFilter({
      _p_user: userPointer(mvUid),
      'createdWith.authProvider': { $ne: APP_LOGIN },
    })
    const beyond = cursor === undefined ? {} : { _id: { $gt: decodeCursor(SESSION_LIST, cursor).id } }
    const found = await this.#sessions
      .find({ ...matching, ...beyond })
      .sort({ _id: 1 })
      .limit(limit + 1)
      .toArray()
    const total = count ? await this.#sessions.countDocuments(matching) : undefined
    const page = createPage(SESSION_LIST, found, limit, ({ _id }) => ({ value: null, id: _id }), total)
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

  async endAll(mvUid: string): Promise<void> {
    await this.#end({ _p_user: userPointer(mvUid) })
  }

  /** Ends the sessions that an external identity began, except one. */
  async endOfIdentities(mvUid: string, keptSid: string): Promise<void> {
    const began = { 'createdWith.authProvider': IDENTITY_LOGIN }
    await this.#end({ _p_user: userPointer(mvUid), ...began, _id: { $ne: keptSid } })
  }

  /** Runs work that ends all of a person's sessions, and then restores one of them. */
  async keepSessionDuring(sid: string, work: () => Promise<void>): Promise<void> {
    const session = await this.#sessions.findOne({ _id: sid })
    await work()
    if (session) await this.#sessions.replaceOne({ _id: sid }, session, { upsert: true })
  }

  async #end(filter: object): Promise<number> {
    const ended = await this.#sessions.find(filter, { projection: { _session_token: 1 } }).toArray()
    const { deletedCount } = await this.#sessions.deleteMany(filter)
    this.invalidateCache()
    await refreshTokensOf(this.#database.db).deleteMany({ sid: { $in: ended.map(({ _id }) => _id) } })
    await this.#credentials.forgetSessions(ended.map(({ _session_token }) => _session_token))
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
