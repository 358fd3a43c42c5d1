import type { AppCreate } from '../../../schemas/accounts/app.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import type { Violation } from '../../../schemas/validation/violations.ts'
import { isKnownScope, resourceScopesOf } from './app-scopes.ts'

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

function redirectViolations({ redirectUris = [], launchUrl }: AppCreate): Violation[] {
  const faulty = redirectUris.flatMap((uri, i) =>
    isRedirectUri(uri)
      ? []
      : [
          {
            path: `redirectUris[${i}]`,
            code: 'redirect-uri',
            message:
              'must begin with https, a scheme of the app such as org.example.app, or http://127.0.0.1, and have no fragment',
          },
        ],
  )
  const isMissing = redirectUris.length === 0
  return [
    ...faulty,
    ...(isMissing
      ? [
          {
            path: 'redirectUris',
            code: 'required',
            message: 'must name an address: people log in to this app',
          },
        ]
      : []),
    ...(launchUrl === undefined || isLaunchUrl(launchUrl)
      ? []
      : [{ path: 'launchUrl', code: 'launch-url', message: 'must begin with https, or http://127.0.0.1' }]),
  ]
}

function scopeViolations({ scopes }: AppCreate): Violation[] {
  return scopes.flatMap((scope, i): Violation[] => {
    const path = `scopes[${i}]`
    if (!isKnownScope(scope))
      return [{ path, code: 'scope', message: 'must be a scope of SMART App Launch: patient/Observation.rs' }]
    const isSystem = resourceScopesOf([scope]).some(({ level }) => level === 'system')
    return isSystem
      ? [
          {
            path,
            code: 'not-supported',
            message: 'must be of the level patient or user: only people admit apps',
          },
        ]
      : []
  })
}

/** @throws RuleViolated with all violations */
export function requireValidApp(app: AppCreate): void {
  const { authentication, jwks } = app
  const violations = [
    ...redirectViolations(app),
    ...scopeViolations(app),
    ...(authentication === 'key' && jwks === undefined
      ? [{ path: 'jwks', code: 'required', message: 'must have the public keys of the app' }]
      : []),
    ...(authentication !== 'key' && jwks !== undefined
      ? [{ path: 'jwks', code: 'authentication', message: 'needs the authentication key' }]
      : []),
  ]
  if (violations.length > 0) throw new ServiceError('RuleViolated', { violations })
}

/** The origins of pages from which the app runs in browsers. */
export const originsOf = ({ redirectUris = [] }: Pick<AppCreate, 'redirectUris'>): string[] => [
  ...new Set(
    redirectUris
      .map((uri) => new URL(uri))
      .flatMap(({ protocol, origin }) => (/^https?:$/.test(protocol) ? origin : [])),
  ),
]
