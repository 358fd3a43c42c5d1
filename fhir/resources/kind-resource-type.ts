import { memoizeByObject } from '../../schemas/forms/memoize.ts'
import type { FhirServices, Interaction, ResourceType } from '../sources/resource-source.ts'
import { KindResources } from './kinds/kind-resources.ts'
import { describeParameters, type MappedKind, streamsOf } from './kinds/kind-streams.ts'
import { withKnownPractitioners } from './people/practitioner-references.ts'

const OPERATIONS = 'http://hl7.org/fhir/OperationDefinition'
const READ_INTERACTIONS: readonly Interaction[] = [
  ...(['read', 'vread', 'history-instance', 'history-type', 'search-type'] as const),
]

const ALL_INTERACTIONS: readonly Interaction[] = [
  ...READ_INTERACTIONS,
  ...(['create', 'update', 'patch', 'delete'] as const),
]

/** The resource type of these kinds. */
export function kindResourceType(kinds: readonly [MappedKind, ...MappedKind[]]): ResourceType {
  const [{ fhir, words, readOnly }] = kinds
  const profiles = kinds.flatMap((kind) => [
    ...(kind.fhir.profile === undefined ? [] : [kind.fhir.profile]),
    ...Object.values(kind.fhir.parts ?? {}).flatMap(({ profile }) => profile ?? []),
  ])
  const streams = kinds.flatMap(streamsOf)
  const codes = streams.flatMap((stream) => stream.codes.map(({ system, code }) => `${system}|${code}`))
  const namesUsers = kinds.some((kind) => kind.fhir.elements.some((element) => element.namesUsers))
  return {
    type: fhir.type,
    plural: kinds.length === 1 ? words.en : 'measurements',
    profiles: [...new Set(profiles)],
    interactions: readOnly ? READ_INTERACTIONS : ALL_INTERACTIONS,
    parameters: describeParameters(fhir, streams),
    sortedBy: fhir.sortedBy,
    ...(codes.length > 0 && { codes: [...new Set(codes)] }),
    operations: {
      ...(!readOnly && { validate: `${OPERATIONS}/Resource-validate` }),
      ...(codes.length > 0 && { lastn: `${OPERATIONS}/${fhir.type}-lastn` }),
    },
    open: memoizeByObject(({ context, recordsOf, profiles }: FhirServices) => {
      const source = new KindResources({ context, recordsOf, streams }, kinds)
      return namesUsers ? withKnownPractitioners(source, profiles) : source
    }),
  }
}
