import { type Static, Type } from '@sinclair/typebox'
import { emailAddress, mvUid, password } from './account.ts'
import { closed } from './common.ts'

export const PasswordLogin = closed('PasswordLogin', 'E-mail address and password', {
  email: emailAddress(),
  password,
})

const refreshToken = Type.String({
  minLength: 1,
  maxLength: 200,
  description: 'Valid for one refresh, which returns the next one',
  examples: ['5qVnV3cJkP0m2bTtYB0e8o2W1r9sZx4LhN6dGfQaUiw'],
})

export const Refresh = closed('Refresh', 'The refresh token of the last login or refresh', { refreshToken })

export const CodeLogin = closed('CodeLogin', 'What the identity provider returned to the client', {
  code: Type.String({
    minLength: 1,
    maxLength: 2000,
    description: 'Authorization code',
    examples: ['4/0Ab'],
  }),
  redirectUri: Type.String({
    format: 'uri',
    maxLength: 2000,
    description: 'The redirect URI of the authorization request',
    examples: ['https://app.example.org/callback'],
  }),
  codeVerifier: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z0-9._~-]{43,128}$',
      description: 'PKCE code verifier (RFC 7636)',
      examples: ['dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'],
    }),
  ),
})

export const IdTokenLogin = closed('IdTokenLogin', 'An ID token of the identity provider', {
  idToken: Type.String({ minLength: 1, maxLength: 16_000, description: 'OpenID Connect ID token' }),
  nonce: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 500,
      description: 'The nonce of the authorization request; required when the token contains one',
      examples: ['n-0S6_WzA2Mj'],
    }),
  ),
})

const seconds = (description: string, example: number) => Type.Integer({ description, examples: [example] })

export const Grant = closed('Grant', 'What a login gives', {
  authToken: Type.String({ description: 'Access token (JWT) for the path family' }),
  tokenType: Type.Literal('Bearer', { description: 'How to send authToken', examples: ['Bearer'] }),
  expiresIn: seconds('Seconds for which authToken is valid', 900),
  refreshToken,
  refreshExpiresIn: seconds('Seconds after which the session ends without a refresh', 43_200),
  sessionToken: Type.String({ description: 'Session token for the class family' }),
  mvUid,
})
export type Grant = Static<typeof Grant>

const keyText = (description: string, example: string) => Type.String({ description, examples: [example] })

const JsonWebKey = closed('JsonWebKey', 'A public key (RFC 7517)', {
  kty: keyText('Key type', 'EC'),
  crv: keyText('Curve', 'P-256'),
  x: keyText('x', 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU'),
  y: keyText('y', 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0'),
  alg: keyText('Algorithm', 'ES256'),
  use: keyText('Use', 'sig'),
  kid: keyText('Key id', 'k1'),
})
export type JsonWebKey = Static<typeof JsonWebKey>

export const JsonWebKeySet = closed('JsonWebKeySet', 'The keys that verify our tokens (RFC 7517)', {
  keys: Type.Array(JsonWebKey, { description: 'The keys, newest first' }),
})

const time = (description: string) =>
  Type.String({ format: 'date-time', description, examples: ['2026-03-01T08:30:00Z'] })

export const Session = closed('Session', 'A login that has not ended', {
  sid: Type.String({ description: 'Session id', examples: ['s8RtUv12Qx'] }),
  current: Type.Boolean({ description: 'Whether this request belongs to it' }),
  device: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description: 'The User-Agent of the client, or null when it is not known',
    examples: ['Mozilla/5.0 (X11; Linux x86_64)'],
  }),
  createdAt: time('When it began'),
  lastUsedAt: time('When its tokens were last issued'),
  expiresAt: time('When it ends unless it is used'),
})
export type Session = Static<typeof Session>
