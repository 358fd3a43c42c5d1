import type { Collection } from 'mongodb'
import type { Database } from '../../store/documents/database.ts'
import { syncIndexes } from '../../store/documents/indexes.ts'
import { APP_DECISION_TIMEOUT_MS } from '../login/sessions.ts'
import { hashSecret, newSecret } from '../user/secret.ts'

/** The checked request of an app to a person. */
export interface AppRequest {
  appId: string
  redirectUri: string
  /** The scopes that the app may get. */
  scopes: string[]
  state: string | undefined
  /** Hash of the code verifier (PKCE, S256). */
  challenge: string
  nonce: string | undefined
  /** The patient of the launch; undefined: the person chooses one. */
  patient?: string | undefined
}

/** A launch of an app by a person who has opened the EHR of a patient. */
interface AppLaunch {
  mvUid: string
  appId: string
  patient: string
}

interface StoredLaunch extends AppLaunch {
  _id: string
  expiresAt: Date
}

/** The person who decides on a request, and the session of their login; it becomes that of the app. */
export interface AppRequestLogin {
  mvUid: string
  sid: string
}

interface StoredRequest extends AppRequest, AppRequestLogin {
  _id: string
  expiresAt: Date
}

interface StoredCode extends Pick<AppRequest, 'appId' | 'redirectUri' | 'challenge'> {
  _id: string
  sid: string
  /** End of its validity; it is kept longer, so that a reuse is recognised. */
  validUntil: Date
  usedAt?: Date
  expiresAt: Date
}

/** An app that is launched comes back within this time. */
const LAUNCH_LIFETIME_MS = 5 * 60_000
/** An app exchanges its code within this time. */
export const CODE_LIFETIME_MS = 60_000
const CODE_RETENTION_MS = 3_600_000

/** The result of a redemption: the code, or that a used code was reused. */
type RedeemedCode = (Omit<StoredCode, '_id'> & { isReused: false }) | { sid: string; isReused: true }

/** The steps between the launch of an app and its tokens: the launch, the open decision, and the code. */
export class AppAuthorizations {
  readonly #launches: Collection<StoredLaunch>
  readonly #requests: Collection<StoredRequest>
  readonly #codes: Collection<StoredCode>
  readonly #assertions: Collection<{ _id: string; expiresAt: Date }>
  readonly #clock: () => Date

  constructor({ db }: Pick<Database, 'db'>, clock: () => Date) {
    this.#launches = db.collection('auth.app_launches')
    // What the app has not sent must not come back as null: a redirect would have the state "null".
    this.#requests = db.collection('auth.app_requests', { ignoreUndefined: true })
    this.#codes = db.collection('auth.app_codes')
    this.#assertions = db.collection('auth.app_assertions')
    this.#clock = clock
  }

  async prepare(): Promise<void> {
    const expiry = [{ key: { expiresAt: 1 as const }, name: 'expiry', expireAfterSeconds: 0 }]
    await syncIndexes(this.#launches, expiry)
    await syncIndexes(this.#requests, expiry)
    await syncIndexes(this.#codes, expiry)
    await syncIndexes(this.#assertions, expiry)
  }

  #in = (ms: number): Date => new Date(this.#clock().getTime() + ms)

  /** Launches an app for a patient. @returns the value that the app sends back, once */
  async launch(launch: AppLaunch): Promise<{ secret: string; expiresAt: Date }> {
    const secret = newSecret()
    const expiresAt = this.#in(LAUNCH_LIFETIME_MS)
    await this.#launches.insertOne({ ...launch, _id: hashSecret(secret), expiresAt })
    return { secret, expiresAt }
  }

  /** The patient of a launch, for the person who has launched the app; each once. */
  async takeLaunch(
    secret: string,
    { mvUid, appId }: Omit<AppLaunch, 'patient'>,
  ): Promise<string | undefined> {
    const launch = await this.#launches.findOneAndDelete({
      _id: hashSecret(secret),
      mvUid,
      appId,
      expiresAt: { $gt: this.#clock() },
    })
    return launch?.patient
  }

  /** Keeps a request of an app until the person has decided. @returns the secret of the form */
  async open({ mvUid, sid }: AppRequestLogin, request: AppRequest): Promise<string> {
    const secret = newSecret()
    await this.#requests.insertOne({
      ...request,
      _id: hashSecret(secret),
      mvUid,
      sid,
      expiresAt: this.#in(APP_DECISION_TIMEOUT_MS),
    })
    return secret
  }

  /** The request on which a person decides now; each once. */
  async take(secret: string): Promise<(AppRequest & AppRequestLogin) | undefined> {
    const request = await this.#requests.findOneAndDelete({
      _id: hashSecret(secret),
      expiresAt: { $gt: this.#clock() },
    })
    return request ?? undefined
  }

  /** @returns the code with which the app gets the tokens of a session */
  async issueCode(sid: string, { appId, redirectUri, challenge }: AppRequest): Promise<string> {
    const code = newSecret()
    await this.#codes.insertOne({
      _id: hashSecret(code),
      sid,
      appId,
      redirectUri,
      challenge,
      validUntil: this.#in(CODE_LIFETIME_MS),
      expiresAt: this.#in(CODE_RETENTION_MS),
    })
    return code
  }

  /** Marks a code as used. Of requests at the same time, one gets it. */
  async redeem(code: string): Promise<RedeemedCode | undefined> {
    const _id = hashSecret(code)
    const unusedCode = await this.#codes.findOneAndUpdate(
      { _id, usedAt: { $exists: false } },
      { $set: { usedAt: this.#clock() } },
    )
    if (unusedCode) return { ...unusedCode, isReused: false }
    const usedCode = await this.#codes.findOne({ _id })
    return usedCode ? { sid: usedCode.sid, isReused: true } : undefined
  }

  /** Whether this is the first use of an assertion, which is kept until it has expired. */
  async isFirstUse(appId: string, jti: string, expiresAt: Date): Promise<boolean> {
    const { upsertedCount } = await this.#assertions.updateOne(
      { _id: hashSecret(`${appId} ${jti}`) },
      { $setOnInsert: { expiresAt } },
      { upsert: true },
    )
    return upsertedCount === 1
  }
}
