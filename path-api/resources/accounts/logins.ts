import {
  CodeLogin,
  Grant,
  IdTokenLogin,
  JsonWebKeySet,
  PasswordLogin,
  RefreshRequest,
  type TokenGrant,
} from '../../../schemas/accounts/login.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import { defineOperation } from '../../operation/operation.ts'
import { replyWith, secureCookie } from '../../reply/reply.ts'

const loginSource = 'Endpoints, Login; Authentication'

/** Cache lifetime of the key set in seconds. */
const KEY_SET_MAX_AGE_S = 300

const identityLoginDefaults = {
  description:
    'Never creates an account: the identity or its verified e-mail address must already belong to an account. The first login links the identity and mails the owner of the account, which can have one identity of the provider. A new password or address ends the link.',
  source: loginSource,
  access: 'public',
  reply: [200, Grant],
  errors: ['IdentityRefused', 'AccountNotFound', 'NotFound', 'IdentityProviderFailed'],
  guardedAccount: () => undefined,
} as const

export const loginOperations = [
  defineOperation({
    id: 'loginWithPassword',
    method: 'post',
    path: '/auth/login/password',
    summary: 'Log in with e-mail address and password',
    source: loginSource,
    access: 'public',
    body: PasswordLogin,
    reply: [200, Grant],
    errors: ['InvalidCredentials', 'AccountLocked'],
    guardedAccount: ({ body }) => body.email,
    handle: async ({ body }, { logins, userAgent, pathPrefix }) =>
      replyWithGrant(
        await logins.logInWithPassword(body.email, body.password, userAgent),
        body.refreshCookie,
        pathPrefix,
      ),
  }),
  defineOperation({
    id: 'loginWithRefreshToken',
    method: 'post',
    path: '/auth/login/token',
    summary: 'Exchange a refresh token for a new pair of tokens',
    description:
      'A refresh token can be exchanged once. A second exchange within ten seconds returns the same new token; later the token is considered stolen and the session ends. Without `refreshToken` in the body, the cookie of a login with `refreshCookie` counts.',
    source: loginSource,
    access: 'public',
    body: RefreshRequest,
    reply: [200, Grant],
    errors: ['Unauthenticated', 'CrossSiteRequest'],
    handle: async ({ body }, { logins, refreshCookie, pathPrefix }) => {
      const token = body.refreshToken ?? refreshCookie()
      if (token === undefined)
        throw new ServiceError('Unauthenticated', { detail: 'There is no refresh token.' })
      return replyWithGrant(await logins.refresh(token), body.refreshToken === undefined, pathPrefix)
    },
  }),
  defineOperation({
    ...identityLoginDefaults,
    id: 'loginWithGoogle',
    method: 'post',
    path: '/auth/login/google',
    summary: 'Log in with the authorization code of the external identity provider',
    body: CodeLogin,
    handle: async (
      { body: { refreshCookie, ...code } },
      { logins, identityProvider, userAgent, pathPrefix },
    ) =>
      replyWithGrant(
        await logins.logInWithIdentity(await identityProvider.fromCode(code), userAgent),
        refreshCookie,
        pathPrefix,
      ),
  }),
  defineOperation({
    ...identityLoginDefaults,
    id: 'loginWithGoogleToken',
    method: 'post',
    path: '/auth/login/googletoken',
    summary: 'Log in with an ID token of the external identity provider',
    body: IdTokenLogin,
    handle: async ({ body }, { logins, identityProvider, userAgent, pathPrefix }) =>
      replyWithGrant(
        await logins.logInWithIdentity(
          await identityProvider.fromIdToken(body.idToken, body.nonce),
          userAgent,
        ),
        body.refreshCookie,
        pathPrefix,
      ),
  }),
  defineOperation({
    id: 'getKeySet',
    method: 'get',
    path: '/auth/login/jwks',
    summary: 'Get the JSON web key set that verifies access tokens',
    source: loginSource,
    access: 'public',
    publicDocument: true,
    reply: [200, JsonWebKeySet],
    handle: async (_, { publicKeys }) =>
      replyWith(
        { keys: await publicKeys() },
        { headers: { 'cache-control': `public, max-age=${KEY_SET_MAX_AGE_S}` } },
      ),
  }),
]

/** Sends the refresh token to the operations on sessions only. */
export const refreshCookieHeader = (pathPrefix: string, token: string, maxAgeS: number) => ({
  'set-cookie': secureCookie('refreshToken', token, `${pathPrefix}/auth`, maxAgeS),
})

/** Keeps the lasting tokens from the scripts of a page: one becomes a cookie, the other is left out. */
function replyWithGrant(grant: TokenGrant, inCookie: boolean | undefined, pathPrefix: string) {
  if (!inCookie) return grant
  const { refreshToken, sessionToken: _, ...body } = grant
  return replyWith(body, { headers: refreshCookieHeader(pathPrefix, refreshToken, grant.refreshExpiresIn) })
}
