import {
  CodeLogin,
  IdTokenLogin,
  JsonWebKeySet,
  PasswordLogin,
  RefreshRequest,
  TokenGrant,
} from '../../../schemas/accounts/login.ts'
import { defineOperation } from '../../operation/operation.ts'
import { replyWith } from '../../reply/reply.ts'

const loginSource = 'Endpoints, Login; Authentication'

/** Cache lifetime of the key set in seconds. */
const KEY_SET_MAX_AGE_S = 300

const identityLoginDefaults = {
  description:
    'Never creates an account: the identity or its verified e-mail address must already belong to an account. The first login links the identity and mails the owner of the account, which can have one identity of the provider. A new password or address ends the link.',
  source: loginSource,
  access: 'public',
  reply: [200, TokenGrant],
  errors: ['IdentityRefused', 'AccountNotFound', 'NotFound'],
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
    reply: [200, TokenGrant],
    errors: ['InvalidCredentials', 'AccountLocked'],
    guardedAccount: ({ body }) => body.email,
    handle: ({ body }, { logins, userAgent }) =>
      logins.logInWithPassword(body.email, body.password, userAgent),
  }),
  defineOperation({
    id: 'loginWithRefreshToken',
    method: 'post',
    path: '/auth/login/token',
    summary: 'Exchange a refresh token for a new pair of tokens',
    description:
      'A refresh token can be exchanged once. A second exchange within ten seconds returns the same new token; later the token is considered stolen and the session ends.',
    source: loginSource,
    access: 'public',
    body: RefreshRequest,
    reply: [200, TokenGrant],
    errors: ['Unauthenticated'],
    guardedAccount: () => undefined,
    handle: ({ body }, { logins }) => logins.refresh(body.refreshToken),
  }),
  defineOperation({
    ...identityLoginDefaults,
    id: 'loginWithGoogle',
    method: 'post',
    path: '/auth/login/google',
    summary: 'Log in with the authorization code of the external identity provider',
    body: CodeLogin,
    handle: async ({ body }, { logins, identityProvider, userAgent }) =>
      logins.logInWithIdentity(await identityProvider.fromCode(body), userAgent),
  }),
  defineOperation({
    ...identityLoginDefaults,
    id: 'loginWithGoogleToken',
    method: 'post',
    path: '/auth/login/googletoken',
    summary: 'Log in with an ID token of the external identity provider',
    body: IdTokenLogin,
    handle: async ({ body }, { logins, identityProvider, userAgent }) =>
      logins.logInWithIdentity(await identityProvider.fromIdToken(body.idToken, body.nonce), userAgent),
  }),
  defineOperation({
    id: 'getKeySet',
    method: 'get',
    path: '/auth/login/jwks',
    summary: 'Fetch the JSON web key set that verifies access tokens',
    source: loginSource,
    access: 'public',
    reply: [200, JsonWebKeySet],
    handle: async (_, { publicKeys }) =>
      replyWith(
        { keys: await publicKeys() },
        { headers: { 'cache-control': `public, max-age=${KEY_SET_MAX_AGE_S}` } },
      ),
  }),
]
