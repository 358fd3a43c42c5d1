import { createHash, timingSafeEqual } from 'node:crypto'
import type { ClientSession, Collection } from 'mongodb'
import type { AdmittedApp, App } from '../../../schemas/accounts/app.ts'
import { ACCOUNT_ROLES } from '../../../schemas/enums.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import { findRolesOfUser } from '../../ehrs/rights/roles.ts'
import type { Caller } from '../../store/documents/caller.ts'
import type { Database } from '../../store/documents/database.ts'
import { syncIndexes } from '../../store/documents/indexes.ts'
import { decodeCursor } from '../../store/reading/cursor.ts'
import { createPage, type Page, type PageRequest } from '../../store/reading/pages.ts'
import type { RefreshTokens } from '../login/refresh-tokens.ts'
import { APP_LOGIN, type SessionLimits, type Sessions } from '../login/sessions.ts'
import type { Credentials } from '../user/credentials.ts'
import { usersOf } from '../user/user.ts'
import type { AppAuthorizations, AppRequest } from './app-authorizations.ts'
import { reduceScopes, resourceScopesOf } from './app-scopes.ts'
import type { RegisteredApps } from './registered-apps.ts'

/** The claims of the access token of an app. */
interface AppClaims {
  sub: string
  sid: string
  clientId: string
  scopes: readonly string[]
  patient?: string | undefined
}

/** Signs and verifies the tokens of apps. */
export interface AppTokens {
  /** Lifetime of an access token in seconds. */
  lifetime: number
  sign(claims: AppClaims): Promise<string>
  signIdentity(claims: {
    sub: string
    clientId: string
    nonce: string | undefined
    fhirUser: string | undefined
  }): Promise<string>
  /** The claims of a valid token, with its expiry in seconds since 1970. */
  verify(token: string): Promise<(AppClaims & { exp: number }) | undefined>
}

/** The response of the token endpoint (RFC 6749, 5.1; SMART App Launch 2.2). */
export interface AppTokenGrant {
  access_token: string
  token_type: string
  expires_in: number
  scope: string
  refresh_token?: string
  id_token?: string
  patient?: string
  need_patient_banner?: boolean
}

/** What a person has admitted an app to; the id is that of its session. */
interface StoredGrant {
  _id: string
  mvUid: string
  appId: string
  scopes: string[]
  patient?: string
  nonce?: string
  createdAt: Date
  expiresAt: Date
}

interface AppGrantDependencies {
  database: Database
  apps: RegisteredApps
  authorizations: AppAuthorizations
  sessions: Sessions
  credentials: Pick<Credentials, 'beginSession'>
  /** The refresh tokens of apps. */
  refreshTokens: RefreshTokens
  appTokens: AppTokens
  /** Address of the FHIR API. */
  fhirBase: string
  clock: () => Date
}

const DAY_MS = 24 * 3_600_000
/** `offline_access`: the app may be used rarely, and without the person. */
const OFFLINE_LIMITS: SessionLimits = { idleMs: 90 * DAY_MS, lifetimeMs: 365 * DAY_MS }
const GRANT_LIST = 'admittedApps'

const limitsFor = (scopes: readonly string[]): SessionLimits | undefined =>
  scopes.includes('offline_access') ? OFFLINE_LIMITS : undefined

/** The roles of the whole service are for people, not for what they let in. */
export const withoutAccountRoles = (roles: readonly string[]): string[] =>
  roles.filter((role) => !(ACCOUNT_ROLES as readonly string[]).includes(role))

export const grantRefused = (code: string, message: string): ServiceError =>
  new ServiceError('GrantRefused', { violations: [{ path: '', code, message }] })

/** PKCE S256: the verifier that the app kept belongs to the challenge that it sent. */
function fitsChallenge(verifier: string, challenge: string): boolean {
  const hash = Buffer.from(createHash('sha256').update(verifier).digest('base64url'))
  const expected = Buffer.from(challenge)
  return hash.length === expected.length && timingSafeEqual(hash, expected)
}

/** Apps that people have admitted, and their tokens. Each admission is a session of its own, so ending it ends the tokens. */
export class AppGrants {
  readonly #parts: AppGrantDependencies
  readonly #grants: Collection<StoredGrant>

  constructor(parts: AppGrantDependencies) {
    this.#parts = parts
    this.#grants = parts.database.db.collection('auth.app_grants')
  }

  async prepare(): Promise<void> {
    await syncIndexes(this.#grants, [
      { key: { expiresAt: 1 }, name: 'expiry', expireAfterSeconds: 0 },
      { key: { mvUid: 1, _id: 1 } },
      { key: { appId: 1 } },
    ])
  }

  /** The user as the caller of an app that is not admitted yet: without the roles of the whole service. */
  async callerOf(mvUid: string, app: App, requestId: string): Promise<Caller> {
    const roles = await findRolesOfUser(this.#parts.database, mvUid)
    return { userId: mvUid, roles: withoutAccountRoles(roles), application: app.name, requestId }
  }

  /** Admits an app. @returns the code for its first tokens */
  async admit(mvUid: string, app: App, request: AppRequest, patient: string | undefined): Promise<string> {
    const { credentials, sessions, authorizations, clock } = this.#parts
    const { scopes, nonce } = request
    const limits = limitsFor(scopes)
    const { sid } = await sessions.recordDevice(await credentials.beginSession(mvUid, APP_LOGIN), app.name)
    if (limits) await sessions.extend(sid, limits)
    await this.#grants.insertOne({
      ...{ _id: sid, mvUid, appId: app.id, scopes, createdAt: clock() },
      expiresAt: sessions.maxExpiry(limits),
      ...(patient !== undefined && { patient }),
      ...(nonce !== undefined && { nonce }),
    })
    return authorizations.issueCode(sid, request)
  }

  /** @throws GrantRefused; a reused code also ends the session, because it was probably stolen */
  async redeemCode(
    app: App,
    { code, redirectUri, verifier }: { code: string; redirectUri: string; verifier: string },
  ): Promise<AppTokenGrant> {
    const { authorizations, sessions, refreshTokens, clock } = this.#parts
    const redeemed = await authorizations.redeem(code)
    if (!redeemed) throw grantRefused('invalid_grant', 'The code is unknown or has expired')
    const fits =
      !redeemed.isReused &&
      redeemed.appId === app.id &&
      redeemed.redirectUri === redirectUri &&
      redeemed.validUntil > clock() &&
      fitsChallenge(verifier, redeemed.challenge)
    const grant = fits ? await this.#grants.findOne({ _id: redeemed.sid }) : null
    if (!grant) {
      await sessions.revoke(redeemed.sid)
      throw grantRefused(
        'invalid_grant',
        'The code was used before, has expired, or does not fit client_id, redirect_uri and code_verifier',
      )
    }
    const isRefreshable = ['offline_access', 'online_access'].some((one) => grant.scopes.includes(one))
    const refreshToken = isRefreshable
      ? await refreshTokens.issue(grant._id, sessions.maxExpiry(limitsFor(grant.scopes)))
      : undefined
    return this.#issue(app, grant, grant.scopes, refreshToken)
  }

  /** @throws GrantRefused; a token reused after ten seconds also ends the session */
  async refresh(app: App, refreshToken: string, scope: string | undefined): Promise<AppTokenGrant> {
    const { refreshTokens, sessions } = this.#parts
    const redeemed = await refreshTokens.redeem(refreshToken)
    const grant = redeemed && (await this.#grants.findOne({ _id: redeemed.sid, appId: app.id }))
    if (redeemed && (!grant || 'reused' in redeemed)) await sessions.revoke(redeemed.sid)
    if (!grant || 'reused' in redeemed || !(await sessions.extend(redeemed.sid, limitsFor(grant.scopes))))
      throw grantRefused('invalid_grant', 'The refresh token is invalid or has expired')
    const scopes = scope === undefined ? grant.scopes : reduceScopes(scope, grant.scopes)
    if (scopes.length === 0) throw grantRefused('invalid_scope', 'The app was not given these scopes')
    return this.#issue(app, grant, scopes, redeemed.next)
  }

  async #issue(
    app: App,
    { _id: sid, mvUid: sub, patient, nonce }: StoredGrant,
    given: readonly string[],
    refreshToken: string | undefined,
  ): Promise<AppTokenGrant> {
    const { appTokens } = this.#parts
    const scopes = reduceScopes(given.join(' '), app.scopes)
    const clientId = app.id
    const fhirUser = scopes.includes('fhirUser') ? await this.findFhirUser(sub) : undefined
    return {
      access_token: await appTokens.sign({ sub, sid, clientId, scopes, patient }),
      token_type: 'Bearer',
      expires_in: appTokens.lifetime,
      scope: scopes.join(' '),
      ...(refreshToken !== undefined && { refresh_token: refreshToken }),
      ...(scopes.includes('openid') && {
        id_token: await appTokens.signIdentity({ sub, clientId, nonce, fhirUser }),
      }),
      ...(patient !== undefined && { patient, need_patient_banner: true }),
    }
  }

  /** The resource about a user: the patient of the EHR that came with the account. */
  async findFhirUser(mvUid: string): Promise<string | undefined> {
    const user = await usersOf(this.#parts.database.db).findOne({ _id: mvUid }, { projection: { ehrId: 1 } })
    return user?.ehrId ? `${this.#parts.fhirBase}/Patient/${user.ehrId}` : undefined
  }

  /** The valid access token of an app, at most 4 s old; undefined once its session has ended, or the app is removed. */
  async findAccess(token: string) {
    const { appTokens, sessions, apps } = this.#parts
    const claims = await appTokens.verify(token)
    if (!claims) return undefined
    const [session, app] = await Promise.all([sessions.facts(claims.sid), apps.find(claims.clientId)])
    if (session?.mvUid !== claims.sub || !app) return undefined
    const scopes = reduceScopes(claims.scopes.join(' '), app.scopes)
    const roles = withoutAccountRoles(session.roles)
    return { ...claims, app, roles, scopes, permits: resourceScopesOf(scopes) }
  }

  /** Ends the admission to which a token of an app belongs; any other text is ignored. */
  async revoke(app: App, token: string): Promise<void> {
    const { appTokens, refreshTokens, sessions } = this.#parts
    const sid = (await appTokens.verify(token))?.sid ?? (await refreshTokens.findSid(token))
    const ended = sid && (await this.#grants.findOneAndDelete({ _id: sid, appId: app.id }))
    if (ended) await sessions.revoke(ended._id)
  }

  /** Lists the apps that a person has admitted. @throws MalformedRequest for a cursor of another list */
  async list(mvUid: string, { limit, cursor }: PageRequest): Promise<Page<AdmittedApp>> {
    const { sessions, apps } = this.#parts
    const beyond = cursor === undefined ? {} : { _id: { $gt: decodeCursor(GRANT_LIST, cursor).id } }
    const found = await this.#grants
      .find({ mvUid, ...beyond })
      .sort({ _id: 1 })
      .limit(limit + 1)
      .toArray()
    const page = createPage(GRANT_LIST, found, limit, ({ _id }) => ({ value: null, id: _id }), undefined)
    const active = await sessions.findActive(page.items.map(({ _id }) => _id))
    const items = await Promise.all(
      page.items.map(async ({ _id, appId, scopes, patient, createdAt }) => {
        const session = active.find(({ sid }) => sid === _id)
        const app = await apps.find(appId)
        if (!session || !app) return []
        const { lastUsedAt, expiresAt } = session
        return [
          {
            ...{ id: _id, name: app.name, scopes, ehrId: patient ?? null },
            ...{ createdAt: createdAt.toISOString(), lastUsedAt, expiresAt },
          },
        ]
      }),
    )
    return { ...page, items: items.flat() }
  }

  /** Ends an admission with its tokens. @returns whether there was one */
  async end(mvUid: string, id: string): Promise<boolean> {
    const { deletedCount } = await this.#grants.deleteOne({ _id: id, mvUid })
    if (deletedCount > 0) await this.#parts.sessions.end(mvUid, id)
    return deletedCount > 0
  }

  /** Ends all admissions of an app. */
  async endOfApp(appId: string): Promise<void> {
    for await (const { _id } of this.#grants.find({ appId }, { projection: { _id: 1 } }))
      await this.#parts.sessions.revoke(_id)
    await this.#grants.deleteMany({ appId })
  }

  /** Erases the admissions of a deleted account. */
  async forget(session: ClientSession, mvUid: string): Promise<void> {
    await this.#grants.deleteMany({ mvUid }, { session })
  }
}
