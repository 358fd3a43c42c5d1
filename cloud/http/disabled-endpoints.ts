import { lookUp } from '../../schemas/validation/look-up.ts'
import { normalizePath } from './request/request-parts.ts'
import { SERVED_CLASS_NAMES } from './request/served-classes.ts'

const DOCUMENTATION_HINT = 'The available endpoints are described at /openapi.json.'
const ROLES_MESSAGE =
  'Parse roles are not available. Access follows from the EHR and from care-plan participants; add one with POST /ehr/{ehrId}/careplan/{careplanId}/participant.'
const PUSH_MESSAGE =
  'Installations and push notifications are not available. The service notifies people by mail.'
const SESSIONS_MESSAGE =
  'Only your current session can be read (GET /1/sessions/me). List and end your other sessions at /auth/sessions.'
const JOBS_MESSAGE = 'Background jobs are not available.'
const PURCHASES_MESSAGE = 'In-app purchases are not available.'

// cspell:ignore chatmessage chattopic loginas scriptlog upgradetorevocablesession verifypassword
/** Disabled endpoints of Parse Server with their alternatives, by first path segment or class. */
const ALTERNATIVES: Readonly<Record<string, string>> = {
  config:
    'Parse Config is not available. Settings of a care plan are at /med/{ehrId}/careplan/{careplanId}/settings.',
  roles: ROLES_MESSAGE,
  _role: ROLES_MESSAGE,
  installations: PUSH_MESSAGE,
  _installation: PUSH_MESSAGE,
  push: PUSH_MESSAGE,
  push_audiences: PUSH_MESSAGE,
  sessions: SESSIONS_MESSAGE,
  _session: SESSIONS_MESSAGE,
  schemas: `Classes and their fields cannot be changed. ${DOCUMENTATION_HINT}`,
  aggregate:
    'Aggregations are not available. Use distinct or count in a query, /ehr/{ehrId}/summary/medgraph, or AQL at /med/aql.',
  files: 'Parse files are not available. Upload the picture of a person with POST /profile/{mvUid}/picture.',
  graphql: `GraphQL is not available. ${DOCUMENTATION_HINT}`,
  serverinfo:
    'Information about the server needs the READ_ONLY_MASTER_KEY, sent from the machine of the service.',
  verifypassword: 'Verifying a password is not available. Log in with POST /1/login.',
  loginas: 'Logging in as another user is not available.',
  upgradetorevocablesession: 'Every session can be revoked already. Log in with POST /1/login.',
  challenge: 'Third-party logins are not available under /1. Use POST /auth/login/google.',
  events: 'Analytics is not available.',
  jobs: JOBS_MESSAGE,
  cloud_code: JOBS_MESSAGE,
  hooks: 'Webhooks are not available. Follow changes with live queries or GET /ehr/{ehrId}/changes.',
  purge: 'Classes cannot be purged. Delete objects one by one.',
  products: PURCHASES_MESSAGE,
  _product: PURCHASES_MESSAGE,
  validate_purchase: PURCHASES_MESSAGE,
  scriptlog: 'The log is not available through the API.',
  security: 'The security check of Parse Server is not available through the API.',
  chattopic:
    'Chat topics can only be read under /1. Start one with POST /chat/{type}/{id}; close it with POST /chat/{type}/{id}/{topicId}/close.',
  chatmessage:
    'Chat messages can only be read under /1. Write one with POST /chat/{type}/{id}/{topicId}; change it with PUT /chat/{type}/{id}/{topicId}/message/{messageId}.',
}

/** First path segments that Parse passes on so that our handler refuses them with an explanation. */
export const disabledRoutes = [
  '(config|roles|installations|push|push_audiences|sessions|schemas|aggregate|serverInfo)(/.*)?',
  '(verifyPassword|loginAs|upgradeToRevocableSession|challenge|events|jobs|cloud_code|hooks)(/.*)?',
  '(purge|products|validate_purchase|scriptlog|security)(/.*)?',
  'classes/_[A-Za-z]+(/.*)?',
]

/** Error message of a disabled path, with the alternative. */
export function describeDisabledEndpoint(path: string): string {
  const [first = ''] = normalizePath(path).slice(1).split('/')
  return lookUp(ALTERNATIVES, first) ?? `This endpoint does not exist. ${DOCUMENTATION_HINT}`
}

/** Error message of a class that clients can only read, with the operations that write it. */
export const describeReadOnlyClass = (name: string): string =>
  lookUp(ALTERNATIVES, name.toLowerCase()) ?? `${name} can only be read under /1. ${DOCUMENTATION_HINT}`

/** Error message of an unknown class, with the known classes. */
export function describeUnknownClass(name: string): string {
  const alternative = lookUp(ALTERNATIVES, name.toLowerCase())
  if (alternative !== undefined && name.startsWith('_')) return alternative
  return `The class "${name.slice(0, 64)}" does not exist. The classes are ${SERVED_CLASS_NAMES.join(', ')}.`
}
