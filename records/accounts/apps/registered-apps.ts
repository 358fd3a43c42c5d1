import { timingSafeEqual } from 'node:crypto'
import type { Collection } from 'mongodb'
import type { App, AppCreate, RegisteredApp } from '../../../schemas/accounts/app.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import { type Database, isDuplicateKeyError } from '../../store/documents/database.ts'
import { syncIndexes } from '../../store/documents/indexes.ts'
import { decodeCursor } from '../../store/reading/cursor.ts'
import { createPage, type Page, type PageRequest } from '../../store/reading/pages.ts'
import { ReadCache } from '../../store/reading/read-cache.ts'
import { type ExpectedVersions, requireExpectedVersion } from '../../store/write-decider.ts'
import type { ConnectedSystems } from '../systems/connected-systems.ts'
import { hashSecret, newSecret } from '../user/secret.ts'
import { originsOf, requireValidApp } from './app-rules.ts'

interface StoredApp extends AppCreate {
  _id: string
  secretHash?: string
  /** Origins whose pages may call the FHIR API. */
  origins: string[]
  createdAt: Date
  version: number
}

/** An app, with the number of its changes. */
export interface VersionedApp {
  app: RegisteredApp
  version: number
}

/** A change of an app takes effect on other instances after this time. */
const APP_CACHE_TTL_MS = 4_000
const CACHE_LIMITS = { max: 1000, ttl: APP_CACHE_TTL_MS }
const APP_LIST = 'apps'

/** Apps that administrators have registered as clients of SMART App Launch. */
export class RegisteredApps {
  readonly #apps: Collection<StoredApp>
  readonly #clock: () => Date
  readonly #cache = new ReadCache<{ app: StoredApp | undefined }>(CACHE_LIMITS)
  readonly #origins = new ReadCache<{ isRegistered: boolean }>(CACHE_LIMITS)
  readonly #systems: Pick<ConnectedSystems, 'exists'>

  constructor({ db }: Pick<Database, 'db'>, systems: Pick<ConnectedSystems, 'exists'>, clock: () => Date) {
    this.#apps = appsOf({ db })
    this.#systems = systems
    this.#clock = clock
  }

  async prepare(): Promise<void> {
    await syncIndexes(this.#apps, [{ key: { name: 1 }, unique: true }, { key: { origins: 1 } }])
  }

  /**
   * @param id an earlier attempt of the request may have registered the app; it gets another secret then
   * @throws RuleViolated; Conflict when another app has this name
   */
  async register(id: string, app: AppCreate): Promise<VersionedApp> {
    await this.#requireValid(app)
    const _id = `app-${id}`
    const { clientSecret, ...secret } = secretFor(app)
    const storedApp = {
      ...app,
      ...secret,
      _id,
      origins: originsOf(app),
      createdAt: this.#clock(),
      version: 1,
    }
    await this.#apps.replaceOne({ _id }, storedApp, { upsert: true }).catch(throwNameConflict)
    this.#forget()
    return toVersioned(storedApp, clientSecret)
  }

  /** Replaces what is registered about an app; its secret stays. @throws NotFound; PreconditionFailed; as register */
  async replace(_id: string, app: AppCreate, expected: ExpectedVersions): Promise<VersionedApp> {
    await this.#requireValid(app)
    const { createdAt, secretHash, version } = await this.#require(_id, expected)
    const isKept = secretHash !== undefined && app.authentication === 'secret'
    const { clientSecret, ...secret } = isKept ? { secretHash, clientSecret: undefined } : secretFor(app)
    const next = { ...app, ...secret, _id, origins: originsOf(app), createdAt, version: version + 1 }
    return this.#replace(next, clientSecret)
  }

  /** Gives an app another secret; the former one stops working. @throws NotFound; Conflict */
  async renewSecret(_id: string): Promise<VersionedApp> {
    const app = await this.#require(_id, undefined)
    if (app.authentication !== 'secret')
      throw new ServiceError('Conflict', { detail: 'This app authenticates without a secret.' })
    const { clientSecret, ...secret } = secretFor(app)
    return this.#replace({ ...app, ...secret, version: app.version + 1 }, clientSecret)
  }

  /** @throws PreconditionFailed when the app was changed since it was read */
  async #replace(next: StoredApp, clientSecret: string | undefined): Promise<VersionedApp> {
    const { _id, version } = next
    const { matchedCount } = await this.#apps
      .replaceOne({ _id, version: version - 1 }, next)
      .catch(throwNameConflict)
    if (matchedCount === 0) throw new ServiceError('PreconditionFailed')
    this.#forget()
    return toVersioned(next, clientSecret)
  }

  /** @throws NotFound; PreconditionFailed */
  async remove(_id: string, expected: ExpectedVersions): Promise<void> {
    const { version } = await this.#require(_id, expected)
    const { deletedCount } = await this.#apps.deleteOne({ _id, version })
    if (deletedCount === 0) throw new ServiceError('PreconditionFailed')
    this.#forget()
  }

  /** @throws NotFound */
  async get(_id: string): Promise<VersionedApp> {
    return toVersioned(await this.#require(_id, undefined), undefined)
  }

  /** Lists the apps by id. @throws MalformedRequest for a cursor of another list */
  async list({ limit, cursor, count }: PageRequest): Promise<Page<App>> {
    const beyond = cursor === undefined ? {} : { _id: { $gt: decodeCursor(APP_LIST, cursor).id } }
    const apps = await this.#apps
      .find(beyond)
      .sort({ _id: 1 })
      .limit(limit + 1)
      .toArray()
    const total = count ? await this.#apps.countDocuments() : undefined
    const page = createPage(APP_LIST, apps, limit, ({ _id }) => ({ value: null, id: _id }), total)
    return { ...page, items: page.items.map(toApp) }
  }

  /** An app, at most 4 s old; undefined when it is not registered. */
  async find(_id: string): Promise<App | undefined> {
    const cachedApp = await this.#cache.get(_id, async () => ({
      app: (await this.#apps.findOne({ _id })) ?? undefined,
    }))
    return cachedApp?.app && toApp(cachedApp.app)
  }

  /** Whether this is the secret of an app. */
  async hasSecret(_id: string, secret: string): Promise<boolean> {
    const app = await this.#apps.findOne({ _id })
    // An unknown app costs the same comparison.
    const expected = Buffer.from(app?.secretHash ?? hashSecret(''))
    return timingSafeEqual(expected, Buffer.from(hashSecret(secret))) && app?.secretHash !== undefined
  }

  /** Whether pages of an app have this origin. */
  async hasOrigin(origin: string): Promise<boolean> {
    const cachedOrigin = await this.#origins.get(origin, async () => ({
      isRegistered: (await this.#apps.findOne({ origins: origin }, { projection: { _id: 1 } })) !== null,
    }))
    return cachedOrigin?.isRegistered === true
  }

  /** @throws RuleViolated */
  async #requireValid(app: AppCreate): Promise<void> {
    requireValidApp(app)
    if (app.systemId === undefined || (await this.#systems.exists(app.systemId))) return
    throw new ServiceError('RuleViolated', {
      violations: [{ path: 'systemId', code: 'unknown', message: 'must be the id of a connected system' }],
    })
  }

  async #require(_id: string, expected: ExpectedVersions): Promise<StoredApp> {
    const app = await this.#apps.findOne({ _id })
    if (!app) throw new ServiceError('NotFound')
    requireExpectedVersion(expected, app.version)
    return app
  }

  #forget(): void {
    this.#cache.clear()
    this.#origins.clear()
  }
}

export const appsOf = ({ db }: Pick<Database, 'db'>): Collection<StoredApp> =>
  db.collection<StoredApp>('ehr.apps')

function secretFor({ authentication }: AppCreate): { secretHash?: string; clientSecret: string | undefined } {
  if (authentication !== 'secret') return { clientSecret: undefined }
  const clientSecret = newSecret()
  return { secretHash: hashSecret(clientSecret), clientSecret }
}

function throwNameConflict(error: unknown): never {
  if (!isDuplicateKeyError(error)) throw error
  throw new ServiceError('Conflict', { detail: 'Another app has this name.' })
}

const toApp = ({
  _id,
  secretHash: _hash,
  origins: _origins,
  version: _version,
  createdAt,
  ...app
}: StoredApp): App => ({
  id: _id,
  ...app,
  createdAt: createdAt.toISOString(),
})

const toVersioned = (storedApp: StoredApp, clientSecret: string | undefined): VersionedApp => ({
  app: { ...toApp(storedApp), ...(clientSecret !== undefined && { clientSecret }) },
  version: storedApp.version,
})
