import { type Static, Type } from '@sinclair/typebox'
import { closedObject } from '../common.ts'
import { currentPasswordField, emailField, userIdField } from './account.ts'

const refreshCookieField = Type.Optional(
  Type.Boolean({
    description:
      'True to store the refresh token in a cookie that scripts cannot read, for pages of this service; the response then has neither `refreshToken` nor `sessionToken`',
    examples: [false],
  }),
)

export const PasswordLogin = closedObject('PasswordLogin', 'E-mail address and password', {
  email: emailField(),
  password: currentPasswordField,
  refreshCookie: refreshCookieField,
})

const refreshTokenField = Type.String({
  minLength: 1,
  maxLength: 200,
  description: 'Refresh token, valid for one refresh; the response contains the next one',
  examples: ['5qVnV3cJkP0m2bTtYB0e8o2W1r9sZx4LhN6dGfQaUiw'],
})

export const RefreshRequest = closedObject('Refresh', 'Refresh token of the latest login or refresh', {
  refreshToken: Type.Optional(refreshTokenField),
})

const nonceField = (description: string) =>
  Type.String({ minLength: 1, maxLength: 500, description, examples: ['n-0S6_WzA2Mj'] })

export const CodeLogin = closedObject('CodeLogin', 'Authorization response of the identity provider', {
  code: Type.String({
    minLength: 1,
    maxLength: 2000,
    description: 'Authorization code',
    examples: ['4/0Ab'],
  }),
  redirectUri: Type.String({
    format: 'uri',
    maxLength: 2000,
    description: 'Redirect URI of the authorization request',
    examples: ['https://app.example.org/callback'],
  }),
  codeVerifier: Type.String({
    pattern: '^[A-Za-z0-9._~-]{43,128}$',
    description: 'PKCE code verifier (RFC 7636) of the authorization request',
    examples: ['dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'],
  }),
  nonce: nonceField('Nonce of the authorization request'),
  refreshCookie: refreshCookieField,
})

export const IdTokenLogin = closedObject('IdTokenLogin', 'An ID token of the identity provider', {
  idToken: Type.String({ minLength: 1, maxLength: 16_000, description: 'OpenID Connect ID token' }),
  nonce: Type.Optional(
    nonceField('Nonce of the authorization request; required when the token contains one'),
  ),
  refreshCookie: refreshCookieField,
})

const secondsField = (description: string, example: number) =>
  Type.Integer({ description, examples: [example] })

export const Grant = closedObject('Grant', 'Tokens of a login', {
  authToken: Type.String({ description: 'Access token (JWT) for the path family' }),
  tokenType: Type.Literal('Bearer', {
    description: 'Authentication scheme for authToken',
    examples: ['Bearer'],
  }),
  expiresIn: secondsField('Lifetime of authToken in seconds', 900),
  refreshToken: Type.Optional(refreshTokenField),
  refreshExpiresIn: secondsField('Seconds until the session ends unless it is refreshed', 43_200),
  sessionToken: Type.Optional(Type.String({ description: 'Session token for the class family' })),
  mvUid: userIdField,
})
/** All tokens of a login. A page of ours gets them without those that its scripts must not see. */
export type TokenGrant = Required<Static<typeof Grant>>

const keyPartField = (description: string, example: string) =>
  Type.String({ description, examples: [example] })

const JsonWebKey = closedObject('JsonWebKey', 'A public key (RFC 7517)', {
  kty: keyPartField('Key type', 'EC'),
  crv: keyPartField('Curve', 'P-256'),
  x: keyPartField('Coordinate x', 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU'),
  y: keyPartField('Coordinate y', 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0'),
  alg: keyPartField('Algorithm', 'ES256'),
  use: keyPartField('Use', 'sig'),
  kid: keyPartField('Key id', 'k1'),
})
export type JsonWebKey = Static<typeof JsonWebKey>

export const JsonWebKeySet = closedObject(
  'JsonWebKeySet',
  'Public keys that verify the access tokens (RFC 7517)',
  {
    keys: Type.Array(JsonWebKey, { description: 'Public keys, newest first' }),
  },
)

const sessionTimeField = (description: string) =>
  Type.String({ format: 'date-time', description, examples: ['2026-03-01T08:30:00Z'] })

export const Session = closedObject('Session', 'An active session', {
  sid: Type.String({ description: 'Session id', examples: ['s8RtUv12Qx'] }),
  current: Type.Boolean({ description: 'True for the session of this request' }),
  device: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description: 'User-Agent of the client; null if unknown',
    examples: ['Mozilla/5.0 (X11; Linux x86_64)'],
  }),
  createdAt: sessionTimeField('Start of the session'),
  lastUsedAt: sessionTimeField('Time at which tokens were last issued'),
  expiresAt: sessionTimeField('Expiry time unless the session is used before'),
})
export type Session = Static<typeof Session>

export const LinkedIdentity = closedObject('LinkedIdentity', 'An external identity that can log in', {
  id: Type.String({
    description: 'Id of the link',
    examples: ['47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU'],
  }),
  issuer: Type.String({ description: 'Identity provider', examples: ['https://accounts.google.com'] }),
  linkedAt: sessionTimeField('Time of its first login'),
})
export type LinkedIdentity = Static<typeof LinkedIdentity>
