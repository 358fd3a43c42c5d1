import { createPublicKey } from 'node:crypto'
import type { AppCreate, AppKey } from '../../../schemas/accounts/app.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import type { Violation } from '../../../schemas/validation/violations.ts'
import { isKnownScope, isSystemScope } from './app-scopes.ts'

const LOOPBACK_HOSTS: readonly string[] = ['127.0.0.1', '[::1]', 'localhost']

/** Browsers run or show the content of such addresses instead of sending it to an app. */
const OWN_SCHEME = /^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+:$/

/** https, or http on the machine of the person. */
function isSafeUrl({ protocol, hostname, username, password }: URL): boolean {
  const isLocal = protocol === 'http:' && LOOPBACK_HOSTS.includes(hostname)
  return (protocol === 'https:' || isLocal) && username === '' && password === ''
}

const isRedirectUri = (text: string): boolean => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url !== undefined && !text.includes('#') && (isSafeUrl(url) || OWN_SCHEME.test(url.protocol))
}

const isLaunchUrl = (text: string): boolean => URL.canParse(text) && isSafeUrl(new URL(text))

/** Keys are fetched from there: only https proves whose they are. */
const isKeyUrl = (text: string): boolean => isLaunchUrl(text) && /^https:[^#]*$/i.test(text)

function redirectViolations({ redirectUris = [], launchUrl, scopes }: AppCreate): Violation[] {
  const faulty = redirectUris.flatMap((uri, i) =>
    isRedirectUri(uri)
      ? []
      : [
          {
            path: `redirectUris.${i}`,
            code: 'redirect-uri',
            message:
              'must begin with https, a scheme of the app such as org.example.app, or http://127.0.0.1, and have no fragment',
          },
        ],
  )
  const isMissing = redirectUris.length === 0 && !scopes.every(isSystemScope)
  return [
    ...faulty,
    ...(isMissing
      ? [
          {
            path: 'redirectUris',
            code: 'required',
            message: 'must contain a redirect URI, because people log in to this app',
          },
        ]
      : []),
    ...(launchUrl === undefined || isLaunchUrl(launchUrl)
      ? []
      : [{ path: 'launchUrl', code: 'launch-url', message: 'must begin with https, or http://127.0.0.1' }]),
  ]
}

function scopeViolations({ scopes, systemId }: AppCreate): Violation[] {
  return scopes.flatMap((scope, i): Violation[] => {
    const path = `scopes.${i}`
    if (!isKnownScope(scope))
      return [{ path, code: 'scope', message: 'must be a scope of SMART App Launch: patient/Observation.rs' }]
    return isSystemScope(scope) && systemId === undefined
      ? [{ path, code: 'system', message: 'needs systemId: the system with whose rights the app acts' }]
      : []
  })
}

function systemViolations({ systemId, scopes, authentication }: AppCreate): Violation[] {
  if (systemId === undefined) return []
  return [
    ...(scopes.some(isSystemScope)
      ? []
      : [{ path: 'systemId', code: 'scope', message: 'needs a scope of the level system' }]),
    ...(authentication === 'key'
      ? []
      : [{ path: 'authentication', code: 'system', message: 'must be key for an app with systemId' }]),
  ]
}

const MIN_RSA_BITS = 2048

/** Whether a key can verify assertions: by RS384 or ES384. */
function isUsableKey(key: AppKey): boolean {
  try {
    const { asymmetricKeyType, asymmetricKeyDetails = {} } = createPublicKey({ key, format: 'jwk' })
    if (asymmetricKeyType === 'ec') return key.crv === 'P-384'
    const { modulusLength = 0, publicExponent = 0n } = asymmetricKeyDetails
    // With an exponent of 1, everybody could sign.
    return modulusLength >= MIN_RSA_BITS && publicExponent > 1n
  } catch {
    return false
  }
}

const unusableKeyViolations = (keys: readonly AppKey[]): Violation[] =>
  keys.flatMap((key, i) =>
    isUsableKey(key)
      ? []
      : [
          {
            path: `jwks.keys.${i}`,
            code: 'key',
            message: `must be a public key: EC of the curve P-384, or RSA of at least ${MIN_RSA_BITS} bits`,
          },
        ],
  )

function keyViolations({ authentication, jwks, jwksUri }: AppCreate): Violation[] {
  if (authentication !== 'key')
    return Object.entries({ jwks, jwksUri })
      .filter(([, value]) => value !== undefined)
      .map(([path]) => ({ path, code: 'authentication', message: 'needs the authentication key' }))
  if (jwksUri === undefined)
    return jwks
      ? unusableKeyViolations(jwks.keys)
      : [{ path: 'jwks', code: 'required', message: 'must have the public keys of the app' }]
  return [
    ...(jwks ? [{ path: 'jwks', code: 'ambiguous', message: 'must be left out if jwksUri is given' }] : []),
    ...(isKeyUrl(jwksUri)
      ? []
      : [
          {
            path: 'jwksUri',
            code: 'jwks-uri',
            message: 'must begin with https, and have neither a user name nor a fragment',
          },
        ]),
  ]
}

/** @throws RuleViolated with all violations */
export function requireValidApp(app: AppCreate): void {
  const violations = [
    ...redirectViolations(app),
    ...scopeViolations(app),
    ...systemViolations(app),
    ...keyViolations(app),
  ]
  if (violations.length > 0) throw new ServiceError('RuleViolated', { violations })
}

const FREE_PORT = /^(http:\/\/(?:127\.0\.0\.1|\[::1\])):\d{1,5}(?=\/|\?|$)/
const withoutFreePort = (uri: string): string => uri.replace(FREE_PORT, '$1')

/** Whether an app may receive codes at a URI. On the machine of the person it may listen at any port (RFC 8252, 7.3). */
export const hasRedirectUri = (
  { redirectUris = [] }: Pick<AppCreate, 'redirectUris'>,
  uri: string,
): boolean => redirectUris.some((one) => withoutFreePort(one) === withoutFreePort(uri)) && URL.canParse(uri)

/** The origins of pages from which the app runs in browsers. */
export const originsOf = ({ redirectUris = [] }: Pick<AppCreate, 'redirectUris'>): string[] => [
  ...new Set(
    redirectUris
      .map((uri) => new URL(uri))
      .flatMap(({ protocol, origin }) => (/^https?:$/.test(protocol) ? origin : [])),
  ),
]
