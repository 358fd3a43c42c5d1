import { timingSafeEqual } from 'node:crypto'
import type { Collection } from 'mongodb'
import type { ConnectedSystem } from '../../../schemas/accounts/connected-system.ts'
import type { SystemRole } from '../../../schemas/enums.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import { systemIdFrom } from '../../ehrs/rights/access.ts'
import { findRolesOfUser, setRole } from '../../ehrs/rights/roles.ts'
import { type Database, isDuplicateKeyError, runTransaction } from '../../store/documents/database.ts'
import { syncIndexes } from '../../store/documents/indexes.ts'
import { decodeCursor } from '../../store/reading/cursor.ts'
import { createPage, type Page, type PageRequest } from '../../store/reading/pages.ts'
import { ReadCache } from '../../store/reading/read-cache.ts'
import type { AccessTokens } from '../login/logins.ts'
import { hashSecret, newSecret } from '../user/secret.ts'

interface StoredSystem {
  _id: string
  name: string
  roles: SystemRole[]
  /** Hash of the key; absent after the key was revoked. */
  keyHash?: string
  createdAt: Date
}

/** A system with its new key, which only its hash outlives. */
export interface SystemWithKey {
  system: ConnectedSystem
  clientSecret: string
  /** Identifies the key without revealing it. */
  keyId: string
}

/** The facts about a system that requests need. */
export interface SystemIdentity {
  name: string
  roles: readonly string[]
}

/** A revoked key stops working on other instances after this time. */
const SYSTEM_CACHE_TTL_MS = 4_000
const SYSTEM_LIST = 'systems'

interface SystemDependencies {
  database: Database
  accessTokens: AccessTokens
  clock: () => Date
}

/** Systems that administrators have registered; each has a key of its own, for OAuth's client credentials. */
export class ConnectedSystems {
  readonly #parts: SystemDependencies
  readonly #systems: Collection<StoredSystem>
  readonly #cache = new ReadCache<SystemIdentity>({ max: 1000, ttl: SYSTEM_CACHE_TTL_MS })

  constructor(parts: SystemDependencies) {
    this.#parts = parts
    this.#systems = systemsOf(parts.database)
  }

  async prepare(): Promise<void> {
    await syncIndexes(this.#systems, [{ key: { name: 1 }, unique: true }])
  }

  /**
   * @param id an earlier attempt of the request may have registered the system; it gets another key then
   * @throws Conflict when another system has this name
   */
  async register(
    id: string,
    { name, roles: requestedRoles }: { name: string; roles: readonly SystemRole[] },
  ): Promise<SystemWithKey> {
    const { database, clock } = this.#parts
    const roles = [...new Set(requestedRoles)]
    const _id = systemIdFrom(id)
    const clientSecret = newSecret()
    const system = { name, roles, keyHash: hashSecret(clientSecret), createdAt: clock() }
    await runTransaction(database, async (session) => {
      await this.#systems.replaceOne({ _id }, system, { session, upsert: true })
      for (const role of roles) await setRole(database, session, _id, role, true)
    }).catch(throwNameConflict)
    return { system: toConnectedSystem({ _id, ...system }), clientSecret, keyId: keyIdOf(system.keyHash) }
  }

  /** Lists the systems by id. @throws MalformedRequest for a cursor of another list */
  async list({ limit, cursor, count }: PageRequest): Promise<Page<ConnectedSystem>> {
    const beyond = cursor === undefined ? {} : { _id: { $gt: decodeCursor(SYSTEM_LIST, cursor).id } }
    const systems = await this.#systems
      .find(beyond)
      .sort({ _id: 1 })
      .limit(limit + 1)
      .toArray()
    const total = count ? await this.#systems.countDocuments() : undefined
    const page = createPage(SYSTEM_LIST, systems, limit, ({ _id }) => ({ value: null, id: _id }), total)
    return { ...page, items: page.items.map(toConnectedSystem) }
  }

  /** Gives a system another key; the former one and its tokens stop working. @throws NotFound */
  async renewKey(_id: string): Promise<SystemWithKey> {
    const clientSecret = newSecret()
    const keyHash = hashSecret(clientSecret)
    const system = await this.#change(_id, { $set: { keyHash } })
    return { system: toConnectedSystem(system), clientSecret, keyId: keyIdOf(keyHash) }
  }

  /** Locks a system out. Its EHRs stay, and a new key lets it in again. @throws NotFound */
  async revokeKey(_id: string): Promise<void> {
    await this.#change(_id, { $unset: { keyHash: '' } })
  }

  async #change(_id: string, update: object): Promise<StoredSystem> {
    const system = await this.#systems.findOneAndUpdate({ _id }, update, { returnDocument: 'after' })
    if (!system) throw new ServiceError('NotFound')
    this.#cache.clear()
    return system
  }

  async exists(_id: string): Promise<boolean> {
    return (await this.#systems.findOne({ _id }, { projection: { _id: 1 } })) !== null
  }

  /** Identifies the present key of a system; undefined for a system that is locked out. */
  async findKeyId(_id: string): Promise<string | undefined> {
    const system = await this.#systems.findOne({ _id })
    return system?.keyHash && keyIdOf(system.keyHash)
  }

  /** Exchanges the key of a system for an access token. @throws ClientRefused */
  async issueToken(_id: string, clientSecret: string): Promise<{ token: string; lifetime: number }> {
    const { accessTokens } = this.#parts
    const system = await this.#systems.findOne({ _id })
    // An unknown system costs the same comparison.
    const expected = Buffer.from(system?.keyHash ?? hashSecret(''))
    const isRight = timingSafeEqual(expected, Buffer.from(hashSecret(clientSecret)))
    if (!system?.keyHash || !isRight)
      throw new ServiceError('ClientRefused', { detail: 'The client id or the client secret is wrong.' })
    const token = await accessTokens.sign({ sub: _id, sid: keyIdOf(system.keyHash) })
    return { token, lifetime: accessTokens.lifetime }
  }

  /** The system of a token; undefined when its key was renewed or revoked. At most 4 s old. */
  facts(_id: string, keyId: string): Promise<SystemIdentity | undefined> {
    return this.#cache.get(`${_id} ${keyId}`, async () => {
      const system = await this.#systems.findOne({ _id })
      if (!system?.keyHash || keyIdOf(system.keyHash) !== keyId) return undefined
      return { name: system.name, roles: await findRolesOfUser(this.#parts.database, _id) }
    })
  }
}

export const systemsOf = ({ db }: Pick<Database, 'db'>): Collection<StoredSystem> =>
  db.collection<StoredSystem>('ehr.systems')

/** Identifies a key in its tokens. */
const keyIdOf = (keyHash: string): string => hashSecret(keyHash).slice(0, 16)

function throwNameConflict(error: unknown): never {
  if (!isDuplicateKeyError(error)) throw error
  throw new ServiceError('Conflict', { detail: 'Another system has this name.' })
}

const toConnectedSystem = ({ _id, name, roles, keyHash, createdAt }: StoredSystem): ConnectedSystem => ({
  id: _id,
  name,
  roles,
  active: keyHash !== undefined,
  createdAt: createdAt.toISOString(),
})
