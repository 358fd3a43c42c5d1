import { CodeLogin, Grant, IdTokenLogin, JsonWebKeySet, PasswordLogin, Refresh } from '../../schemas/login.ts'
import { answer } from '../answer/answer.ts'
import { operation } from '../operation/operation.ts'

const source = 'Endpoints, Login; Authentication'

/** Seconds for which the key set may be kept by whoever verifies our tokens. */
const keySetAge = 300

export const login = [
  operation({
    id: 'loginWithPassword',
    method: 'post',
    path: '/auth/login/password',
    summary: 'Log in with e-mail address and password',
    source,
    access: 'public',
    body: PasswordLogin,
    reply: [200, Grant],
    errors: ['InvalidCredentials', 'AccountLocked'],
    guarded: ({ body }) => body.email,
    handle: ({ body }, { logins, userAgent }) => logins.withPassword(body.email, body.password, userAgent),
  }),
  operation({
    id: 'loginWithRefreshToken',
    method: 'post',
    path: '/auth/login/token',
    summary: 'Exchange a refresh token for a new pair of tokens',
    description:
      'A refresh token can be exchanged once. A second exchange within ten seconds returns the same new token; after that the token counts as stolen, and the session ends.',
    source,
    access: 'public',
    body: Refresh,
    reply: [200, Grant],
    errors: ['Unauthenticated'],
    guarded: () => undefined,
    handle: ({ body }, { logins }) => logins.withRefreshToken(body.refreshToken),
  }),
  operation({
    id: 'loginWithGoogle',
    method: 'post',
    path: '/auth/login/google',
    summary: 'Log in with the authorization code of the external identity provider',
    description:
      'Never creates an account: the identity, or its verified e-mail address, must already belong to one.',
    source,
    access: 'public',
    body: CodeLogin,
    reply: [200, Grant],
    errors: ['IdentityRefused', 'AccountNotFound', 'NotFound'],
    guarded: () => undefined,
    handle: async ({ body }, { logins, identityProvider, userAgent }) =>
      logins.withIdentity(await identityProvider.fromCode(body), userAgent),
  }),
  operation({
    id: 'loginWithGoogleToken',
    method: 'post',
    path: '/auth/login/googletoken',
    summary: 'Log in with an ID token of the external identity provider',
    description:
      'Never creates an account: the identity, or its verified e-mail address, must already belong to one.',
    source,
    access: 'public',
    body: IdTokenLogin,
    reply: [200, Grant],
    errors: ['IdentityRefused', 'AccountNotFound', 'NotFound'],
    guarded: () => undefined,
    handle: async ({ body }, { logins, identityProvider, userAgent }) =>
      logins.withIdentity(await identityProvider.fromIdToken(body.idToken, body.nonce), userAgent),
  }),
  operation({
    id: 'getKeySet',
    method: 'get',
    path: '/auth/login/jwks',
    summary: 'Fetch the JSON web key set that verifies access tokens',
    source,
    access: 'public',
    reply: [200, JsonWebKeySet],
    handle: async (_, { publicKeys }) =>
      answer({ keys: await publicKeys() }, { headers: { 'cache-control': `public, max-age=${keySetAge}` } }),
  }),
]
