import { LRUCache } from 'lru-cache'
import type { Collection, Db } from 'mongodb'
import type { Session } from '../../../schemas/login.ts'
import { rolesOf } from '../../ehrs/rights/roles.ts'
import type { Database } from '../../store/documents/database.ts'
import { decodeCursor } from '../../store/reading/cursor.ts'
import { type PageOf, paged } from '../../store/reading/listing.ts'
import type { Credentials } from '../user/credentials.ts'
import { isDisabled, usersOf } from '../user/user.ts'
import { refreshTokensOf } from './refresh-tokens.ts'

/** A session as Parse Server keeps it; the last two fields are ours. */
interface StoredSession {
  _id: string
  _session_token: string
  _p_user: string
  expiresAt?: Date
  _created_at: Date
  device?: string
  lastUsedAt?: Date
}

/** A session that lives. */
export interface LiveSession {
  sid: string
  mvUid: string
  sessionToken: string
  expiresAt: Date
}

/** What the path family must know of a session in every request. */
export interface SessionFacts {
  mvUid: string
  roles: readonly string[]
}

const minute = 60_000
/** A session that is not used for so long ends; Parse Server's `sessionLength` says the same of a new one. */
export const sessionLengthSeconds = 12 * 3600
/** However often it is used, a session ends then. */
const longestMs = 30 * 24 * 60 * minute
/** How long after a login nobody is asked for the password again. */
const freshMs = 10 * minute
/** What another instance ended is noticed after this time, and what follows it within 5 s. */
const cachedForMs = 4_000

const LIST = 'sessions'

export const userPointer = (mvUid: string): string => `_User$${mvUid}`

/** Parse Server's sessions: `sid`, the session's id, stands in the access token, and ending it ends both. */
export class Sessions {
  readonly #database: Database
  readonly #sessions: Collection<StoredSession>
  readonly #credentials: Pick<Credentials, 'forgetSessions'>
  readonly #clock: () => Date
  readonly #cache = new LRUCache<string, SessionFacts>({ max: 10_000, ttl: cachedForMs })
  /** Counts the changes, so that what was read before one is not kept after it. */
  #changes = 0

  constructor(database: Database, credentials: Pick<Credentials, 'forgetSessions'>, clock: () => Date) {
    this.#database = database
    this.#sessions = sessionsOf(database.db)
    this.#credentials = credentials
    this.#clock = clock
  }

  /** Whose session it is and which roles that user holds; undefined when it has ended. At most 5 s old. */
  async facts(sid: string): Promise<SessionFacts | undefined> {
    const cached = this.#cache.get(sid)
    if (cached) return cached
    const changes = this.#changes
    const session = await this.#sessions.findOne(this.#alive({ _id: sid }))
    if (!session) return undefined
    const mvUid = ownerOf(session)
    const [user, roles] = await Promise.all([
      usersOf(this.#database.db).findOne({ _id: mvUid }, { projection: { _rperm: 1 } }),
      rolesOf(this.#database, mvUid),
    ])
    if (!user || isDisabled(user)) return undefined
    const facts = { mvUid, roles }
    if (changes === this.#changes) this.#cache.set(sid, facts)
    return facts
  }

  /** Sessions or roles have changed: what is cached of them is read anew. */
  changed(): void {
    this.#changes++
    this.#cache.clear()
  }

  /** Notes the device of a session that has just begun. */
  async begun(sessionToken: string, device: string): Promise<LiveSession> {
    const lastUsedAt = this.#clock()
    const session = await this.#sessions.findOneAndUpdate(
      { _session_token: sessionToken },
      { $set: { device, lastUsedAt } },
      { returnDocument: 'after' },
    )
    if (!session) throw new Error('The session that has just begun is not there')
    return this.#live(session)
  }

  /** Lets a session live on; undefined when it has ended. */
  async used(sid: string): Promise<LiveSession | undefined> {
    const now = this.#clock()
    const session = await this.#sessions.findOne(this.#alive({ _id: sid }))
    if (!session) return undefined
    const expiresAt = new Date(
      Math.min(now.getTime() + sessionLengthSeconds * 1000, session._created_at.getTime() + longestMs),
    )
    const { matchedCount } = await this.#sessions.updateOne(
      { _id: sid },
      { $set: { expiresAt, lastUsedAt: now } },
    )
    return matchedCount === 0 ? undefined : this.#live({ ...session, expiresAt })
  }

  /** Whether the login was a few minutes ago: whoever did it knew the password. */
  async isFresh(sid: string): Promise<boolean> {
    const since = new Date(this.#clock().getTime() - freshMs)
    return (await this.#sessions.findOne({ _id: sid, _created_at: { $gt: since } })) !== null
  }

  /** The session of a token of the class family. */
  async sidOf(sessionToken: string): Promise<string | undefined> {
    return (await this.#sessions.findOne({ _session_token: sessionToken }))?._id
  }

  /** The same as a whole, while it lives. */
  async ofToken(sessionToken: string): Promise<(LiveSession & { createdAt: Date }) | undefined> {
    const session = await this.#sessions.findOne(this.#alive({ _session_token: sessionToken }))
    return session ? { ...this.#live(session), createdAt: session._created_at } : undefined
  }

  /** When a session ends at the latest. */
  latestEnd(): Date {
    return new Date(this.#clock().getTime() + longestMs)
  }

  /** A person's sessions, by id. @throws MalformedRequest for a cursor of another list */
  async list(mvUid: string, currentSid: string, { limit, cursor, count }: PageOf) {
    const matching = this.#alive({ _p_user: userPointer(mvUid) })
    const beyond = cursor === undefined ? {} : { _id: { $gt: decodeCursor(LIST, cursor).id } }
    const found = await this.#sessions
      .find({ ...matching, ...beyond })
      .sort({ _id: 1 })
      .limit(limit + 1)
      .toArray()
    const total = count ? await this.#sessions.countDocuments(matching) : undefined
    const page = paged(LIST, found, limit, ({ _id }) => ({ value: null, id: _id }), total)
    return { ...page, items: page.items.map((session) => this.#sessionOf(session, currentSid)) }
  }

  /** @returns whether there was one */
  async end(mvUid: string, sid: string): Promise<boolean> {
    return (await this.#end({ _id: sid, _p_user: userPointer(mvUid) })) > 0
  }

  /** Ends a session, whoever's it is: its refresh token has been stolen. */
  async revoke(sid: string): Promise<void> {
    await this.#end({ _id: sid })
  }

  async endAll(mvUid: string): Promise<void> {
    await this.#end({ _p_user: userPointer(mvUid) })
  }

  /** Does what ends all of a person's sessions, and lets one of them live on. */
  async sparing(sid: string, work: () => Promise<void>): Promise<void> {
    const session = await this.#sessions.findOne({ _id: sid })
    await work()
    if (session) await this.#sessions.replaceOne({ _id: sid }, session, { upsert: true })
  }

  async #end(filter: object): Promise<number> {
    const ended = await this.#sessions.find(filter, { projection: { _session_token: 1 } }).toArray()
    const { deletedCount } = await this.#sessions.deleteMany(filter)
    this.changed()
    await refreshTokensOf(this.#database.db).deleteMany({ sid: { $in: ended.map(({ _id }) => _id) } })
    await this.#credentials.forgetSessions(ended.map(({ _session_token }) => _session_token))
    return deletedCount
  }

  #alive(filter: object): object {
    return { ...filter, $or: [{ expiresAt: { $gt: this.#clock() } }, { expiresAt: { $exists: false } }] }
  }

  #sessionOf(session: StoredSession, currentSid: string): Session {
    return {
      sid: session._id,
      current: session._id === currentSid,
      device: session.device || null,
      createdAt: session._created_at.toISOString(),
      lastUsedAt: (session.lastUsedAt ?? session._created_at).toISOString(),
      expiresAt: this.#live(session).expiresAt.toISOString(),
    }
  }

  #live(session: StoredSession): LiveSession {
    return {
      sid: session._id,
      mvUid: ownerOf(session),
      sessionToken: session._session_token,
      expiresAt: session.expiresAt ?? this.latestEnd(),
    }
  }
}

export const sessionsOf = (db: Db): Collection<StoredSession> => db.collection<StoredSession>('_Session')

const ownerOf = ({ _p_user }: StoredSession): string => _p_user.slice(userPointer('').length)
