import { normalizePath } from './request/request-parts.ts'
import { SERVED_CLASS_NAMES } from './request/served-classes.ts'

const DOCUMENTATION_HINT = 'what is offered is described at /openapi.json'
const PERMISSIONS_HINT =
  'who may read and write follows from the EHRs and from the participants of care plans, POST /ehr/{ehrId}/careplan/{careplanId}/participant'
const MAIL_HINT = 'people are notified by mail'

/** Disabled endpoints of Parse Server with their alternatives, by first path segment or class. */
const ALTERNATIVES: Readonly<Record<string, string>> = {
  config:
    'Parse Config is not offered: settings of a care plan are at /med/{ehrId}/careplan/{careplanId}/settings',
  roles: `Roles are not offered: ${PERMISSIONS_HINT}`,
  _role: `Roles are not offered: ${PERMISSIONS_HINT}`,
  installations: `Installations and push notifications are not offered: ${MAIL_HINT}`,
  _installation: `Installations and push notifications are not offered: ${MAIL_HINT}`,
  push: `Push notifications are not offered: ${MAIL_HINT}`,
  sessions:
    'Of the sessions only the own one is offered, GET /1/sessions/me: list and end the others at /auth/sessions',
  _session:
    'Of the sessions only the own one is offered, GET /1/sessions/me: list and end the others at /auth/sessions',
  schemas: `Classes and their fields are fixed: ${DOCUMENTATION_HINT}`,
  aggregate:
    'Aggregations are not offered: use distinct or count in a query, /ehr/{ehrId}/summary/medgraph, or AQL at /med/aql',
  files: 'Files are not offered: the picture of a person goes to PUT /profile/{mvUid}/picture',
  graphql: `GraphQL is not offered: ${DOCUMENTATION_HINT}`,
  serverinfo: 'Only a READ_ONLY_MASTER_KEY on the machine of the service is told about the server',
}

/** First path segments that Parse passes on so that our handler refuses them with an explanation. */
export const disabledRoutes = [
  '(config|roles|installations|push|sessions|schemas|aggregate|serverInfo)(/.*)?',
  'classes/_[A-Za-z]+(/.*)?',
]

/** Error message of a disabled path, with the alternative. */
export function describeDisabledEndpoint(path: string): string {
  const [first = ''] = normalizePath(path).slice(1).split('/')
  return Object.hasOwn(ALTERNATIVES, first)
    ? (ALTERNATIVES[first] as string)
    : `This is not offered: ${DOCUMENTATION_HINT}`
}

/** Error message of an unknown class, with the known classes. */
export function describeUnknownClass(name: string): string {
  const known = ALTERNATIVES[name.toLowerCase()]
  if (known !== undefined && name.startsWith('_')) return known
  return `There is no class ${name.slice(0, 64)}. There are ${SERVED_CLASS_NAMES.join(', ')}.`
}
