/** Paths of the OAuth server of SMART App Launch. */
export const SMART_PATHS = {
  authorize: '/auth/smart/authorize',
  login: '/auth/smart/login',
  decision: '/auth/smart/decision',
  token: '/auth/smart/token',
  introspect: '/auth/smart/introspect',
  revoke: '/auth/smart/revoke',
} as const

/** URL of the FHIR API, without a slash at its end: the audience of the tokens of apps. */
export const fhirBaseOf = (publicUrl: string): string => `${publicUrl}/fhir/R4`

/** URLs of the OAuth server, for apps. */
export const smartUrls = (publicUrl: string) => {
  const at = (path: string) => publicUrl + path
  return {
    authorize: at(SMART_PATHS.authorize),
    token: at(SMART_PATHS.token),
    introspect: at(SMART_PATHS.introspect),
    revoke: at(SMART_PATHS.revoke),
    keys: at('/auth/login/jwks'),
    manage: at('/console/access'),
  }
}
