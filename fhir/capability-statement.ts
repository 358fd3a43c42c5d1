import type { FhirResource } from '../records/fhir/mapping.ts'
import { SERVICE_NAME } from '../schemas/text/service-name.ts'
import { type Include, includeName, knownIncludes } from './search/includes.ts'
import type { Interaction, ResourceDescription } from './sources/resource-source.ts'

/** FHIR has no empty lists. */
const listOf = (element: string, items: readonly object[]) => (items.length > 0 ? { [element]: items } : {})

const namesOf = (element: string, includes: readonly Include[]) =>
  includes.length > 0 ? { [element]: ['*', ...new Set(includes.map(includeName))] } : {}

const TOPIC_CANONICAL =
  'http://hl7.org/fhir/uv/subscriptions-backport/StructureDefinition/capabilitystatement-subscriptiontopic-canonical'

/** How clients may use the versions of a type. */
function versioningOf(interactions: readonly Interaction[]): string {
  if (interactions.includes('update')) return 'versioned-update'
  return interactions.includes('vread') ? 'versioned' : 'no-version'
}

const describeType = (description: ResourceDescription, types: readonly ResourceDescription[]) => {
  const { type, profiles, interactions, parameters, operations = {}, topics = [] } = description
  const { forward, reverse } = knownIncludes(description, types)
  const has = (interaction: Interaction) => interactions.includes(interaction)
  return {
    ...listOf(
      'extension',
      topics.map((valueCanonical) => ({ url: TOPIC_CANONICAL, valueCanonical })),
    ),
    type,
    ...(profiles.length > 0 && { supportedProfile: profiles }),
    ...listOf(
      'interaction',
      interactions.map((code) => ({ code })),
    ),
    versioning: versioningOf(interactions),
    readHistory: has('vread'),
    updateCreate: false,
    conditionalCreate: has('create'),
    conditionalRead: 'full-support',
    conditionalUpdate: has('update'),
    conditionalDelete: has('delete') ? 'single' : 'not-supported',
    ...namesOf('searchInclude', forward),
    ...namesOf('searchRevInclude', reverse),
    ...listOf(
      'searchParam',
      Object.entries(parameters).map(([name, { type: valueType, description }]) => ({
        name,
        type: valueType,
        documentation: description,
      })),
    ),
    ...listOf(
      'operation',
      Object.entries(operations).map(([name, definition]) => ({ name, definition })),
    ),
  }
}

/** URLs of the OAuth server, where older apps look for them. */
interface OAuthEndpoints {
  authorize: string
  token: string
}

const OAUTH_URIS = 'http://fhir-registry.smarthealthit.org/StructureDefinition/oauth-uris'
const SECURITY_SERVICES = 'http://terminology.hl7.org/CodeSystem/restful-security-service'

const securityOf = ({ authorize, token }: OAuthEndpoints) => ({
  cors: true,
  service: [{ coding: [{ system: SECURITY_SERVICES, code: 'SMART-on-FHIR' }], text: 'SMART App Launch' }],
  extension: [
    {
      url: OAUTH_URIS,
      extension: Object.entries({ authorize, token }).map(([url, valueUri]) => ({
        url,
        valueUri,
      })),
    },
  ],
})

const SYSTEM_INTERACTIONS = ['batch', 'transaction', 'history-system']

/** The CapabilityStatement of the FHIR API, from the table of resource types. */
export const capabilityStatement = (
  types: readonly ResourceDescription[],
  { base, version, since, oauth }: { base: string; version: string; since: string; oauth: OAuthEndpoints },
): FhirResource => ({
  resourceType: 'CapabilityStatement',
  status: 'active',
  date: since,
  publisher: 'The operator of this service',
  kind: 'instance',
  software: { name: SERVICE_NAME, version },
  implementation: { description: `FHIR R4 API of the ${SERVICE_NAME}`, url: base },
  fhirVersion: '4.0.1',
  format: ['application/fhir+json', 'json'],
  patchFormat: ['application/json-patch+json'],
  rest: [
    {
      mode: 'server',
      security: securityOf(oauth),
      resource: types.map((one) => describeType(one, types)),
      interaction: SYSTEM_INTERACTIONS.map((code) => ({ code })),
    },
  ],
})
