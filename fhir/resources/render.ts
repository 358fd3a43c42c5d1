import { Decimal } from '../../records/fhir/decimal.ts'
import type { FhirJson } from '../../records/fhir/element-paths.ts'
import type { FieldValues } from '../../records/fhir/fhir-element.ts'
import {
  type FhirMapping,
  type FhirPart,
  type FhirResource,
  showElements,
} from '../../records/fhir/mapping.ts'
import { type Decimals, matchingDecimals } from '../../schemas/json/decimals.ts'

/** A record with its metadata. */
export type RecordWithMetadata = FieldValues & {
  id: string
  version: number
  createdAt: string
  updatedAt: string
  ehrId?: string
}

/** The record with the digits that FHIR sent, in place of the numbers that are still the same. */
function withDecimals<R extends FieldValues>(record: R): R {
  const { decimals } = record as { decimals?: Decimals }
  if (decimals === undefined) return record
  const exact = matchingDecimals(decimals, record).map(([field, digits]) => [field, new Decimal(digits)])
  return { ...record, ...Object.fromEntries(exact) }
}

const reference = (type: string, id: string) => ({ reference: `${type}/${id}` })

/** The resource of a record. */
export function renderRecord(mapping: FhirMapping, record: RecordWithMetadata): FhirResource {
  const parts = Object.entries(mapping.parts ?? {}).filter(([, part]) => part.isIn(record))
  const members = parts.map(([suffix]) => reference(mapping.type, `${record.id}.${suffix}`))
  return renderResource(mapping.type, mapping, record, record.id, {
    ...(members.length > 0 && { hasMember: members }),
  })
}

/** The resource of a part of a record. */
export const renderPart = (
  { type }: FhirMapping,
  part: FhirPart,
  record: RecordWithMetadata,
  suffix: string,
): FhirResource =>
  renderResource(type, part, record, `${record.id}.${suffix}`, { derivedFrom: [reference(type, record.id)] })

const renderResource = (
  resourceType: string,
  mapping: Pick<FhirMapping, 'elements' | 'profile'>,
  record: RecordWithMetadata,
  id: string,
  links: FhirJson,
): FhirResource => ({
  resourceType,
  id,
  meta: {
    versionId: String(record.version),
    lastUpdated: record.updatedAt,
    ...(mapping.profile !== undefined && { profile: [mapping.profile] }),
  },
  ...showElements(mapping, withDecimals(record), links),
})
