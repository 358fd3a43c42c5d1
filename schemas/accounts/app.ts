import { type Static, Type } from '@sinclair/typebox'
import { closedObject, displayedNameField } from '../common.ts'

const appNameField = displayedNameField(
  'Name of the app, as people and the audit see it',
  'Blood pressure diary',
)

const urlField = (description: string, example: string) =>
  Type.String({ format: 'uri', maxLength: 500, description, examples: [example] })

/** The method by which an app authenticates at the token endpoint. */
const APP_AUTHENTICATIONS = ['public', 'secret', 'key'] as const
type AppAuthentication = (typeof APP_AUTHENTICATIONS)[number]

const authenticationField = Type.Unsafe<AppAuthentication>({
  type: 'string',
  enum: [...APP_AUTHENTICATIONS],
  description:
    'Proof of the app: public (none, for apps in browsers and phones), secret (a client secret), or key (a signed assertion)',
  examples: ['public'],
})

/** Texts of OAuth, which have neither spaces nor line breaks. */
const VISIBLE_ASCII = '^[!-~]+$'

const appScopesField = Type.Array(
  Type.String({ pattern: VISIBLE_ASCII, maxLength: 300, description: 'Scope of SMART App Launch' }),
  {
    minItems: 1,
    maxItems: 100,
    description: 'Scopes that the app may request, at most',
    examples: [['launch/patient', 'patient/Observation.rs', 'openid', 'fhirUser', 'offline_access']],
  },
)

const redirectUrisField = Type.Array(urlField('Redirect URI', 'https://app.example.org/callback'), {
  maxItems: 20,
  description:
    'URLs to which the app is sent back: https, an own scheme, or http on this machine. The port of 127.0.0.1 and [::1] is free',
})

/** A public key of an app. */
const AppKey = Type.Object(
  {
    kty: Type.String({
      pattern: VISIBLE_ASCII,
      maxLength: 10,
      description: 'Key type: EC (curve P-384) or RSA (at least 2048 bits)',
      examples: ['EC'],
    }),
    kid: Type.String({
      pattern: VISIBLE_ASCII,
      minLength: 1,
      maxLength: 200,
      description: 'Id of the key',
      examples: ['k1'],
    }),
    alg: Type.Optional(
      Type.String({ pattern: VISIBLE_ASCII, maxLength: 10, description: 'Algorithm', examples: ['ES384'] }),
    ),
    use: Type.Optional(
      Type.String({ pattern: VISIBLE_ASCII, maxLength: 10, description: 'Use', examples: ['sig'] }),
    ),
    key_ops: Type.Optional(
      Type.Array(Type.String({ pattern: VISIBLE_ASCII, maxLength: 20 }), {
        maxItems: 10,
        description: 'Operations',
      }),
    ),
    crv: Type.Optional(
      Type.String({ pattern: VISIBLE_ASCII, maxLength: 20, description: 'Curve', examples: ['P-384'] }),
    ),
    x: Type.Optional(Type.String({ pattern: VISIBLE_ASCII, maxLength: 200, description: 'Coordinate x' })),
    y: Type.Optional(Type.String({ pattern: VISIBLE_ASCII, maxLength: 200, description: 'Coordinate y' })),
    n: Type.Optional(Type.String({ pattern: VISIBLE_ASCII, maxLength: 2000, description: 'Modulus' })),
    e: Type.Optional(Type.String({ pattern: VISIBLE_ASCII, maxLength: 20, description: 'Exponent' })),
  },
  { additionalProperties: false, description: 'A public key (RFC 7517)' },
)

export type AppKey = Static<typeof AppKey>

const jwksUriField = urlField(
  'URL of the public keys, in place of jwks: https, at a public IP address',
  'https://app.example.org/jwks.json',
)

const systemIdField = Type.String({
  pattern: VISIBLE_ASCII,
  maxLength: 100,
  examples: ['system-q3WrTy78Lp'],
  description:
    'The connected system with whose rights the app acts as a backend service: scopes of the level system narrow them',
})

const keySetField = Type.Object(
  { keys: Type.Array(AppKey, { minItems: 1, maxItems: 10, description: 'Public keys' }) },
  { additionalProperties: false, description: 'Public keys of an app with the authentication key' },
)

const appFields = {
  name: appNameField,
  authentication: authenticationField,
  redirectUris: Type.Optional(redirectUrisField),
  scopes: appScopesField,
  launchUrl: Type.Optional(urlField('URL at which the app is launched', 'https://app.example.org/launch')),
  jwks: Type.Optional(keySetField),
  jwksUri: Type.Optional(jwksUriField),
  systemId: Type.Optional(systemIdField),
}

export const AppCreate = closedObject('AppCreate', 'An app to be registered', appFields)
export type AppCreate = Static<typeof AppCreate>

const idField = Type.String({
  description: 'Id of the app: its OAuth client id',
  examples: ['app-q3WrTy78Lp'],
})

export const App = closedObject('App', 'An app that an administrator has registered', {
  id: idField,
  ...appFields,
  createdAt: Type.String({ format: 'date-time', description: 'Time of registration' }),
})
export type App = Static<typeof App>

export const RegisteredApp = closedObject('RegisteredApp', 'An app, with its secret when it gets one', {
  ...App.properties,
  clientSecret: Type.Optional(
    Type.String({
      description: 'OAuth client secret of the app. It is not shown again',
      examples: ['k7Qm2Xv9Lr4Tz8Np1Wd6Bs3Hf5Jc0Gy7Aq2Ue9Ix4Ro'],
    }),
  ),
})
export type RegisteredApp = Static<typeof RegisteredApp>

export const AppLaunchCreate = closedObject('AppLaunchCreate', 'A launch of an app for a patient', {
  appId: idField,
  ehrId: Type.String({
    pattern: VISIBLE_ASCII,
    maxLength: 64,
    description: 'EHR of the patient',
    examples: ['e5RtGb81Xz'],
  }),
})

export const AppLaunch = closedObject('AppLaunch', 'A launch of an app', {
  launch: Type.String({
    description: 'Value that the app sends back, once and within five minutes',
    examples: ['k7Qm2Xv9Lr4Tz8Np1Wd6Bs3Hf5Jc0Gy7Aq2Ue9Ix4Ro'],
  }),
  iss: Type.String({
    description: 'URL of the FHIR API',
    examples: ['https://health.example.org/fhir/R4'],
  }),
  launchUrl: Type.Optional(
    Type.String({
      description: 'URL to open: that of the app, with iss and launch',
      examples: ['https://app.example.org/launch'],
    }),
  ),
  expiresAt: Type.String({ format: 'date-time', description: 'End of the launch' }),
})

export const AdmittedApp = closedObject('AdmittedApp', 'An app with access to the data of a person', {
  id: Type.String({ description: 'Id of the grant', examples: ['s8RtUv12Qx'] }),
  name: appNameField,
  scopes: Type.Array(Type.String(), {
    description: 'Scopes of the app',
    examples: [['patient/Observation.rs']],
  }),
  ehrId: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description: 'The EHR to which the app is limited; null if it is not limited to one',
    examples: ['e5RtGb81Xz'],
  }),
  createdAt: Type.String({ format: 'date-time', description: 'Time of the grant' }),
  lastUsedAt: Type.String({ format: 'date-time', description: 'Time of the last login or token' }),
  expiresAt: Type.String({ format: 'date-time', description: 'End, unless the app gets a new token' }),
})
export type AdmittedApp = Static<typeof AdmittedApp>

/** A scope of SMART App Launch for resources: `patient/Observation.rs?category=vital-signs`. */
export interface ResourceScope {
  level: 'patient' | 'user' | 'system'
  /** A resource type, or `*`. */
  type: string
  /** Letters of `cruds`: create, read, update, delete, search. */
  letters: string
  /** The only category of the resources: `code`, or `system|code`. */
  category?: string | undefined
}

/** The scopes that a user has granted to an app, or those of a backend service. */
export interface AppPermit {
  /** The client id of the app. */
  id: string
  scopes: readonly ResourceScope[]
  /** The EHR to which scopes of the level `patient` are limited. */
  patient?: string | undefined
  /** The EHR of the user, whose Patient the app may read with the scope fhirUser. */
  userEhr?: string | undefined
  /** The id of the grant, which is that of its session; the app itself, if it is a backend service. */
  grantId: string
}
