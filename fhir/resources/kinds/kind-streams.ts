import type { ClassKind } from '../../../records/ehr-records/kind.ts'
import { type FhirCoding, referencedId } from '../../../records/fhir/elements.ts'
import type { FhirElement } from '../../../records/fhir/fhir-element.ts'
import type { FhirMapping, FhirPart, FhirResource } from '../../../records/fhir/mapping.ts'
import type { FhirSearchParameter } from '../../../records/fhir/search/search-parameters.ts'
import { dateParameter } from '../../../records/fhir/search/search-parameters.ts'
import type { StoreContext } from '../../../records/store/writing/transaction.ts'
import type { RecordsOf, ResourceType } from '../../sources/resource-source.ts'
import { type RecordWithMetadata, renderPart, renderRecord } from '../render.ts'

export type MappedKind = ClassKind & { fhir: FhirMapping }

/** Resources of one kind: those of its records, or those of one part of them. */
export interface ResourceStream {
  kind: MappedKind
  /** The suffix of the ids; empty for the resource of the record itself. */
  suffix: string
  codes: readonly FhirCoding[]
  parameters: Readonly<Record<string, FhirSearchParameter>>
  /** The condition on the records that have such a resource. */
  where: Readonly<Record<string, unknown>>
  /** The elements by which clients write the resource: those of the kind, or of the part. */
  mapping: FhirMapping
  /** Whether a record of the kind has such a resource. */
  isIn(record: RecordWithMetadata): boolean
  render(record: RecordWithMetadata): FhirResource
}

/** The streams of a resource type, and the stores of their records. */
export interface StreamSource {
  context: StoreContext
  recordsOf: RecordsOf
  streams: readonly ResourceStream[]
}

export const renderStream = ({ render }: ResourceStream, record: object): FhirResource =>
  render(record as RecordWithMetadata)

/** Parameters of every resource type; the patient is resolved before a kind is searched. */
const generalParameters = (
  suffix: string,
  profile: string | undefined,
): Record<string, FhirSearchParameter> => ({
  _id: {
    type: 'token',
    description: 'Id of the resource',
    modifiers: [],
    where: ({ text }) => {
      const { id, suffix: idSuffix } = splitResourceId(text)
      return idSuffix === suffix && { id }
    },
  },
  _lastUpdated: dateParameter('Time of the last change', 'updatedAt'),
  _profile: {
    type: 'uri',
    description: 'Profile that the resource claims',
    modifiers: [],
    where: ({ text }) => text === profile,
  },
})

/** A reference between the resources of one record. @param where the conditions for the record with this id and part */
const partParameter = (
  { type }: FhirMapping,
  description: string,
  path: string,
  where: (idParts: { id: string; suffix: string }) => Readonly<Record<string, unknown>> | false,
): FhirSearchParameter => ({
  type: 'reference',
  description,
  path,
  modifiers: [type],
  where: ({ text }) => where(splitResourceId(referencedId(text, type) ?? text)),
})

/** `has-member` leads from a record to its parts, `derived-from` from a part to the record. */
const derivedFrom = (mapping: FhirMapping) => ({
  'derived-from': partParameter(
    mapping,
    'Resource of which this one is a part',
    'derivedFrom',
    ({ id, suffix }) => suffix === '' && { id },
  ),
})

function hasMember(mapping: FhirMapping, parts: readonly (readonly [string, FhirPart])[]) {
  const fields = parts.flatMap(([, { where }]) => Object.keys(where))
  const member = partParameter(mapping, 'Part of this resource', 'hasMember', ({ id, suffix }) => {
    const [, part] = parts.find(([name]) => name === suffix) ?? []
    return part !== undefined && { id, ...part.where }
  })
  return parts.length === 0 ? {} : { 'has-member': { ...member, fields } }
}

/** Splits `<record>.<part>`. */
export function splitResourceId(resourceId: string): { id: string; suffix: string } {
  const [id = '', suffix = ''] = resourceId.split('.')
  return { id, suffix }
}

/** The reference of a part to the record. */
const wholeElement = ({ type }: FhirMapping): FhirElement => ({
  paths: {},
  show: ({ id }) => ({ derivedFrom: [{ reference: `${type}/${id}` }] }),
  read: () => ({}),
})

/** The id of the resource of a stream that shows a record. */
export const resourceIdOf = ({ suffix }: ResourceStream, id: string): string =>
  suffix === '' ? id : `${id}.${suffix}`

/** All resources that records of a kind have. */
export function streamsOf(kind: MappedKind): ResourceStream[] {
  const { fhir } = kind
  const parts = Object.entries(fhir.parts ?? {})
  return [
    {
      kind,
      suffix: '',
      codes: fhir.codes ?? [],
      parameters: { ...fhir.search, ...hasMember(fhir, parts), ...generalParameters('', fhir.profile) },
      where: {},
      mapping: fhir,
      isIn: () => true,
      render: (record) => renderRecord(fhir, record),
    },
    ...parts.map(([suffix, part]) => ({
      kind,
      suffix,
      codes: part.codes ?? [],
      parameters: { ...part.search, ...derivedFrom(fhir), ...generalParameters(suffix, part.profile) },
      where: part.where,
      mapping: { ...fhir, ...part, elements: [...part.elements, wholeElement(fhir)], parts: {} },
      isIn: part.isIn,
      render: (record: RecordWithMetadata) => renderPart(fhir, part, record, suffix),
    })),
  ]
}

const patient = {
  type: 'reference',
  description: 'Patient: the id of an EHR',
  field: 'ehrId',
  modifiers: ['Patient'],
} as const

/** Some types also name the patient in `subject`. */
const patientParameters = ({ elements }: FhirMapping) =>
  elements.some(({ paths }) => paths.ehrId !== undefined && paths.ehrId !== 'patient')
    ? { patient, subject: patient }
    : { patient }

/** Describes a parameter. A reference is found where the mapping shows the field of the parameter. */
function describeParameter(
  { elements }: FhirMapping,
  { type, description, field = '', path: searchPath, modifiers }: Omit<FhirSearchParameter, 'where'>,
) {
  const path = searchPath ?? elements.find(({ paths }) => Object.hasOwn(paths, field))?.paths[field]
  const isReference = type === 'reference' && path !== undefined
  return { type, description, ...(isReference && { references: { types: modifiers, path } }) }
}

/** The search parameters of a type whose resources come from these streams. */
export function describeParameters(
  mapping: FhirMapping,
  streams: readonly ResourceStream[],
): ResourceType['parameters'] {
  const parameters: Record<string, FhirSearchParameter> = Object.assign(
    patientParameters(mapping),
    ...streams.map((stream) => stream.parameters),
  )
  return Object.fromEntries(
    Object.entries(parameters).map(([name, one]) => [name, describeParameter(mapping, one)]),
  )
}
