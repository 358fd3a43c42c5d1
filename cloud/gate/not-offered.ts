import { classNames } from './request/classes.ts'
import { plainPath } from './request/request-parts.ts'

const described = 'what is offered is described at /openapi.json'
const permissions =
  'who may read and write follows from the EHRs and from the participants of care plans, POST /ehr/{ehrId}/careplan/{careplanId}/participant'
const mails = 'people are notified by mail'

/** What Parse Server has and this service has not, with what there is instead; by the first part of a path, or by class. */
const instead: Readonly<Record<string, string>> = {
  config:
    'Parse Config is not offered: settings of a care plan are at /med/{ehrId}/careplan/{careplanId}/settings',
  roles: `Roles are not offered: ${permissions}`,
  _role: `Roles are not offered: ${permissions}`,
  installations: `Installations and push notifications are not offered: ${mails}`,
  _installation: `Installations and push notifications are not offered: ${mails}`,
  push: `Push notifications are not offered: ${mails}`,
  sessions:
    'Of the sessions only the own one is offered, GET /1/sessions/me: list and end the others at /auth/sessions',
  _session:
    'Of the sessions only the own one is offered, GET /1/sessions/me: list and end the others at /auth/sessions',
  schemas: `Classes and their fields are fixed: ${described}`,
  aggregate:
    'Aggregations are not offered: use distinct or count in a query, /ehr/{ehrId}/summary/medgraph, or AQL at /med/aql',
  files: 'Files are not offered: the picture of a person goes to PUT /profile/{mvUid}/picture',
  graphql: `GraphQL is not offered: ${described}`,
  serverinfo: 'Only a READ_ONLY_MASTER_KEY on the machine of the service is told about the server',
}

/** The first parts of paths that Parse hands on to us, to be refused in words. */
export const refusedRoutes = [
  '(config|roles|installations|push|sessions|schemas|aggregate|serverInfo)(/.*)?',
  'classes/_[A-Za-z]+(/.*)?',
]

/** Why nothing is at a path, and what to use instead. */
export function notOffered(path: string): string {
  const [first = ''] = plainPath(path).slice(1).split('/')
  return Object.hasOwn(instead, first) ? (instead[first] as string) : `This is not offered: ${described}`
}

/** Why there is no such class, and which there are. */
export function noSuchClass(name: string): string {
  const known = instead[name.toLowerCase()]
  if (known !== undefined && name.startsWith('_')) return known
  return `There is no class ${name.slice(0, 64)}. There are ${classNames.join(', ')}.`
}
