import type { ClassKind } from '../records/ehr-records/kind.ts'
import { isMapped } from '../records/fhir/mapping.ts'
import { CLASS_NAMES, classKindOf } from '../records/kinds.ts'
import { kindResourceType } from './resources/kind-resource-type.ts'
import type { MappedKind } from './resources/kinds/kind-streams.ts'
import { patientType } from './resources/patients.ts'
import { careTeamType } from './resources/people/care-teams.ts'
import { practitionerType } from './resources/people/practitioners.ts'
import { relatedPersonType } from './resources/people/related-persons.ts'
import { auditEventType } from './resources/read-only/audit-events.ts'
import { binaryType, documentReferenceType } from './resources/read-only/documents.ts'
import { provenanceType } from './resources/read-only/provenances.ts'
import { questionnaireType } from './resources/read-only/questionnaires.ts'
import type { ResourceDescription, ResourceType } from './sources/resource-source.ts'
import { subscriptionType } from './subscriptions/subscription-type.ts'

const isMappedKind = (kind: ClassKind): kind is MappedKind => isMapped(kind.fhir)

/** The resource types of kinds of records, by their mappings. */
function mappedTypes(): ResourceType[] {
  const kindsByType = new Map<string, [MappedKind, ...MappedKind[]]>()
  for (const kind of CLASS_NAMES.map(classKindOf).filter(isMappedKind)) {
    const kinds = kindsByType.get(kind.fhir.type)
    if (kinds) kinds.push(kind)
    else kindsByType.set(kind.fhir.type, [kind])
  }
  return [...kindsByType.values()].map(kindResourceType)
}

/** The types whose resources are records: they have histories, and clients can subscribe to them. */
export const recordTypes = mappedTypes()

/**
 * THE table of resource types: routes, CapabilityStatement, searches, documentation and tests follow from it. Types
 * of kinds of records follow from their mappings; the others have a line here.
 */
export const resourceTypes: readonly ResourceType[] = [
  patientType,
  practitionerType,
  relatedPersonType,
  careTeamType,
  ...recordTypes,
  questionnaireType,
  documentReferenceType,
  binaryType,
  auditEventType([patientType, documentReferenceType, ...recordTypes]),
  provenanceType(recordTypes),
  subscriptionType(recordTypes),
]

/** Groups can only be exported: that of all patients, and that of a care plan. */
const groupDescription: ResourceDescription = {
  type: 'Group',
  plural: 'groups',
  profiles: [],
  interactions: [],
  parameters: {},
  sortedBy: undefined,
  operations: { export: 'http://hl7.org/fhir/uv/bulkdata/OperationDefinition/group-export' },
}

/** The input of the CapabilityStatement. */
export const describedTypes: readonly ResourceDescription[] = [...resourceTypes, groupDescription]
