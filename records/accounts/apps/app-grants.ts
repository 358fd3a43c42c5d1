import { createHash, timingSafeEqual } from 'node:crypto'
import type { ClientSession, Collection, Filter } from 'mongodb'
import type { AdmittedApp, App, AppPermit } from '../../../schemas/accounts/app.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import { DAY_MS } from '../../../schemas/time/durations.ts'
import { isSystemId } from '../../ehrs/rights/access.ts'
import { findRolesOfUser, withoutAccountRoles } from '../../ehrs/rights/roles.ts'
import type { Caller } from '../../store/documents/caller.ts'
import type { Database } from '../../store/documents/database.ts'
import { syncIndexes } from '../../store/documents/indexes.ts'
import { decodeCursor } from '../../store/reading/cursor.ts'
import { createPage, type Page, type PageRequest } from '../../store/reading/pages.ts'
import type { RefreshTokens } from '../login/refresh-tokens.ts'
import { APP_DECISION_TIMEOUT_MS, type SessionLimits, type Sessions, sessionsOf } from '../login/sessions.ts'
import { type ConnectedSystems, systemsOf } from '../systems/connected-systems.ts'
import { usersOf } from '../user/user.ts'
import {
  type AppAuthorizations,
  type AppRequest,
  type AppRequestLogin,
  CODE_LIFETIME_MS,
} from './app-authorizations.ts'
import { hasRedirectUri } from './app-rules.ts'
import { reduceResourceScopes, reduceScopes, resourceScopesOf } from './app-scopes.ts'
import { appsOf, type RegisteredApps } from './registered-apps.ts'

/** The claims of the access token of an app. */
interface AppClaims {
  sub: string
  sid: string
  clientId: string
  scopes: readonly string[]
  patient?: string | undefined
  /** The EHR of the user, with the scope fhirUser. */
  userEhr?: string | undefined
}

/** Signs and verifies the tokens of apps. */
export interface AppTokens {
  /** Lifetime of an access token in seconds. */
  lifetime: number
  /** @param seconds the lifetime of the token, if it is not the usual one */
  sign(claims: AppClaims, seconds?: number): Promise<string>
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

/** The grant of a person to an app; the id is that of its session. */
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
  systems: Pick<ConnectedSystems, 'facts'>
  /** The refresh tokens of apps. */
  refreshTokens: RefreshTokens
  appTokens: AppTokens
  /** Address of the FHIR API. */
  fhirBase: string
  clock: () => Date
  /** Called when the access of an app has ended: one grant of it, or all. */
  onEnd(access: EndedAccess): Promise<void>
}

/** An app whose access has ended; with a grant, only that one. */
export interface EndedAccess {
  appId: string
  grantId?: string
}

/** `offline_access`: the app may be used rarely, and without the person. */
const OFFLINE_LIMITS: SessionLimits = { idleMs: 90 * DAY_MS, lifetimeMs: 365 * DAY_MS }
const GRANT_LIST = 'admittedApps'

export const grantRefused = (code: string, message: string): ServiceError =>
  new ServiceError('GrantRefused', { violations: [{ path: '', code, message: `${message}.` }] })

/** PKCE S256: the verifier that the app kept belongs to the challenge that it sent. */
function fitsChallenge(verifier: string, challenge: string): boolean {
  const hash = Buffer.from(createHash('sha256').update(verifier).digest('base64url'))
  const expected = Buffer.from(challenge)
  return hash.length === expected.length && timingSafeEqual(hash, expected)
}

/** The grants of people to apps, and their tokens. Each grant is a session of its own, so ending it ends the tokens. */
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

  /** The user as the caller of an app without a grant yet: without the roles of the whole service. */
  async callerOf(mvUid: string, app: App, requestId: string): Promise<Caller> {
    const roles = await findRolesOfUser(this.#parts.database, mvUid)
    return { userId: mvUid, roles: withoutAccountRoles(roles), application: app.name, requestId }
  }

  /**
   * Gives an app access.
   * @returns the code for its first tokens; undefined when the session of the login has ended, as by a new password
   */
  async grant(
    { mvUid, sid, ...request }: AppRequest & AppRequestLogin,
    patient: string | undefined,
  ): Promise<string | undefined> {
    const { sessions, authorizations, clock } = this.#parts
    const { appId, scopes, nonce } = request
    const limits = this.#limitsFor(scopes)
    if (!(await sessions.extend(sid, limits))) return undefined
    await this.#grants.insertOne({
      _id: sid,
      mvUid,
      appId,
      scopes,
      createdAt: clock(),
      expiresAt: sessions.maxExpiry(limits),
      ...(patient !== undefined && { patient }),
      ...(nonce !== undefined && { nonce }),
    })
    return authorizations.issueCode(sid, request)
  }

  /** An access that cannot be renewed ends with its only access token. */
  #limitsFor(scopes: readonly string[]): SessionLimits | undefined {
    if (scopes.includes('offline_access')) return OFFLINE_LIMITS
    if (scopes.includes('online_access')) return undefined
    const idleMs = CODE_LIFETIME_MS + this.#parts.appTokens.lifetime * 1000
    return { idleMs, lifetimeMs: APP_DECISION_TIMEOUT_MS + CODE_LIFETIME_MS + idleMs }
  }

  /** @throws GrantRefused; a reused code also ends the session, because it was probably stolen */
  async redeemCode(
    app: App,
    { code, redirectUri, verifier }: { code: string; redirectUri: string; verifier: string },
  ): Promise<AppTokenGrant> {
    const { authorizations, sessions, refreshTokens, clock } = this.#parts
    const redeemedCode = await authorizations.redeem(code)
    if (!redeemedCode) throw grantRefused('invalid_grant', 'The code is unknown or has expired')
    const fits =
      !redeemedCode.isReused &&
      redeemedCode.appId === app.id &&
      redeemedCode.redirectUri === redirectUri &&
      hasRedirectUri(app, redirectUri) &&
      redeemedCode.validUntil > clock() &&
      fitsChallenge(verifier, redeemedCode.challenge)
    const grant = fits ? await this.#grants.findOne({ _id: redeemedCode.sid }) : null
    const scopes = permittedScopesOf(grant, app)
    const limits = this.#limitsFor(scopes)
    if (!grant || scopes.length === 0 || !(await sessions.extend(grant._id, limits))) {
      await sessions.revoke(redeemedCode.sid)
      throw grantRefused(
        'invalid_grant',
        'The code was used before, has expired or been revoked, or does not fit client_id, redirect_uri and code_verifier',
      )
    }
    const refreshToken = isRenewable(scopes)
      ? await refreshTokens.issue(grant._id, sessions.maxExpiry(limits))
      : undefined
    return this.#issue(app, grant, scopes, refreshToken)
  }

  /** The id of the app to which a refresh token belongs. */
  async findAppId(refreshToken: string): Promise<string | undefined> {
    const sid = await this.#parts.refreshTokens.findSid(refreshToken)
    return sid && (await this.#grants.findOne({ _id: sid }))?.appId
  }

  /** @throws GrantRefused; a token reused after ten seconds also ends the session */
  async refresh(app: App, refreshToken: string, scope: string | undefined): Promise<AppTokenGrant> {
    const { refreshTokens, sessions } = this.#parts
    const sid = await refreshTokens.findSid(refreshToken)
    const grant = sid === undefined ? null : await this.#grants.findOne({ _id: sid, appId: app.id })
    const permittedScopes = permittedScopesOf(grant, app)
    const scopes = scope === undefined ? permittedScopes : reduceScopes(scope, permittedScopes)
    // Checked first, so that the token stays valid.
    if (grant && scopes.length === 0)
      throw grantRefused('invalid_scope', 'The app was not given these scopes')
    if (grant && !isRenewable(permittedScopes))
      throw grantRefused('invalid_grant', 'The app may no longer renew its access')
    const redemption = await refreshTokens.redeem(refreshToken)
    if (redemption && (!grant || 'reused' in redemption)) await sessions.revoke(redemption.sid)
    if (
      !grant ||
      !redemption ||
      'reused' in redemption ||
      !(await sessions.extend(redemption.sid, this.#limitsFor(permittedScopes)))
    )
      throw grantRefused('invalid_grant', 'The refresh token is invalid or has expired')
    return this.#issue(app, grant, scopes, redemption.next)
  }

  async #issue(
    app: App,
    { _id: sid, mvUid: sub, patient, nonce }: StoredGrant,
    scopes: readonly string[],
    refreshToken: string | undefined,
  ): Promise<AppTokenGrant> {
    const { appTokens } = this.#parts
    const clientId = app.id
    const userEhr = scopes.includes('fhirUser') ? await this.#findUserEhr(sub) : undefined
    const fhirUser = userEhr && this.#patientUrl(userEhr)
    return {
      access_token: await appTokens.sign({ sub, sid, clientId, scopes, patient, userEhr }),
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
    const userEhr = await this.#findUserEhr(mvUid)
    return userEhr && this.#patientUrl(userEhr)
  }

  async #findUserEhr(mvUid: string): Promise<string | undefined> {
    const user = await usersOf(this.#parts.database.db).findOne({ _id: mvUid }, { projection: { ehrId: 1 } })
    return user?.ehrId
  }

  #patientUrl = (ehrId: string): string => `${this.#parts.fhirBase}/Patient/${ehrId}`

  /**
   * The valid access token of an app, at most 4 s old; undefined once the session of its user or the key of its system has
   * ended, or the app is removed.
   */
  async findAccess(token: string) {
    const { appTokens, apps } = this.#parts
    const claims = await appTokens.verify(token)
    if (!claims) return undefined
    const app = await apps.find(claims.clientId)
    const holder = app && (await this.#findHolder(claims, app))
    if (!holder) return undefined
    const scopes = reduceScopes(claims.scopes.join(' '), app.scopes)
    const roles = withoutAccountRoles(holder.roles)
    const userEhr = scopes.includes('fhirUser') ? claims.userEhr : undefined
    return { ...claims, app, roles, scopes, userEhr, permits: resourceScopesOf(scopes) }
  }

  /**
   * The rights of the holder of a token that was verified earlier, such as that of an open stream. An app has fewer scopes
   * once its registration has.
   * @returns undefined once the session, the key of the system or the app is gone
   */
  async findRights(
    { userId, app }: Pick<Caller, 'userId' | 'app'>,
    sid: string,
  ): Promise<Pick<Caller, 'roles' | 'helper' | 'app'> | undefined> {
    const { sessions, apps } = this.#parts
    if (!app) return sessions.facts(sid)
    const registeredApp = await apps.find(app.id)
    const holder = registeredApp && (await this.#findHolder({ sub: userId, sid }, registeredApp))
    return holder && { roles: withoutAccountRoles(holder.roles), app: limitPermit(app, registeredApp) }
  }

  /** The user or the connected system for which an app acts, while the session or the key of its token is valid. */
  async #findHolder(
    { sub, sid }: Pick<AppClaims, 'sub' | 'sid'>,
    { systemId }: App,
  ): Promise<{ roles: readonly string[] } | undefined> {
    const { sessions, systems } = this.#parts
    if (isSystemId(sub)) return sub === systemId ? systems.facts(sub, sid) : undefined
    const session = await sessions.facts(sid)
    return session?.mvUid === sub ? session : undefined
  }

  /**
   * Ends the grant to which a token of an app belongs; any other text is ignored.
   * @throws GrantRefused for a token of a backend service, which has no grant
   */
  async revoke(app: App, token: string): Promise<void> {
    const { appTokens, refreshTokens } = this.#parts
    const claims = await appTokens.verify(token)
    if (claims?.clientId === app.id && isSystemId(claims.sub))
      throw grantRefused('unsupported_token_type', 'Tokens of backend services end after five minutes')
    const sid = claims?.sid ?? (await refreshTokens.findSid(token))
    if (sid) await this.#end({ _id: sid, appId: app.id })
  }

  /** Lists the apps to which a person has given access. @throws MalformedRequest for a cursor of another list */
  async list(mvUid: string, { limit, cursor }: PageRequest): Promise<Page<AdmittedApp>> {
    const { sessions, apps } = this.#parts
    const beyond = cursor === undefined ? {} : { _id: { $gt: decodeCursor(GRANT_LIST, cursor).id } }
    const grants = await this.#grants
      .find({ mvUid, ...beyond })
      .sort({ _id: 1 })
      .limit(limit + 1)
      .toArray()
    const page = createPage(GRANT_LIST, grants, limit, ({ _id }) => ({ value: null, id: _id }), undefined)
    const active = await sessions.findActive(page.items.map(({ _id }) => _id))
    const items = await Promise.all(
      page.items.map(async ({ _id, appId, scopes, patient, createdAt }) => {
        const session = active.find(({ sid }) => sid === _id)
        const app = await apps.find(appId)
        if (!session || !app) return []
        const { lastUsedAt, expiresAt } = session
        return [
          {
            id: _id,
            name: app.name,
            scopes,
            ehrId: patient ?? null,
            createdAt: createdAt.toISOString(),
            lastUsedAt,
            expiresAt,
          },
        ]
      }),
    )
    return { ...page, items: items.flat() }
  }

  /** Ends a grant with its tokens. @returns whether there was one */
  end(mvUid: string, id: string): Promise<boolean> {
    return this.#end({ _id: id, mvUid })
  }

  async #end(filter: Filter<StoredGrant>): Promise<boolean> {
    const { sessions, onEnd } = this.#parts
    const grant = await this.#grants.findOne(filter)
    if (!grant) return false
    const { _id, appId } = grant
    await sessions.revoke(_id)
    await onEnd({ appId, grantId: _id })
    await this.#grants.deleteOne({ _id })
    return true
  }

  /** Ends all grants of an app. */
  async endOfApp(appId: string): Promise<void> {
    for await (const { _id } of this.#grants.find({ appId }, { projection: { _id: 1 } }))
      await this.#parts.sessions.revoke(_id)
    await this.#parts.onEnd({ appId })
    await this.#grants.deleteMany({ appId })
  }

  /** Erases the grants of a deleted account. */
  async forget(session: ClientSession, mvUid: string): Promise<void> {
    await this.#grants.deleteMany({ mvUid }, { session })
  }
}

/** The scopes of a grant that the app may still have. */
const permittedScopesOf = (grant: StoredGrant | null, { scopes }: App): string[] =>
  grant ? reduceScopes(grant.scopes.join(' '), scopes) : []

const isRenewable = (scopes: readonly string[]): boolean =>
  scopes.includes('offline_access') || scopes.includes('online_access')

/** What an app may still do of what it was granted. */
const limitPermit = (permit: AppPermit, { scopes }: App): AppPermit => ({
  ...permit,
  scopes: reduceResourceScopes(permit.scopes, scopes),
  userEhr: scopes.includes('fhirUser') ? permit.userEhr : undefined,
})

/** Whether an app may still act: its grant has not ended, or the backend service and its system are not locked out. */
export async function isGrantActive(
  { db }: Pick<Database, 'db'>,
  userId: string,
  { grantId }: AppPermit,
  now: Date,
): Promise<boolean> {
  const counts = isSystemId(userId)
    ? [
        appsOf({ db }).countDocuments({ _id: grantId, systemId: userId }),
        systemsOf({ db }).countDocuments({ _id: userId, keyHash: { $exists: true } }),
      ]
    : [sessionsOf(db).countDocuments({ _id: grantId, expiresAt: { $gt: now } })]
  return (await Promise.all(counts)).every((count) => count > 0)
}
