import { randomUUID } from 'node:crypto'
import { elementAt } from '../../records/fhir/element-paths.ts'
import { TERMINOLOGY } from '../../records/fhir/elements.ts'
import type { FhirResource } from '../../records/fhir/mapping.ts'
import { escapeMarkup } from '../../schemas/text/escape-markup.ts'
import { SERVICE_NAME } from '../../schemas/text/service-name.ts'
import { BundleLimits } from '../bundles/bundle-limits.ts'
import type { FoundResources } from '../sources/resource-source.ts'

const LOINC = 'http://loinc.org'

/** A section of the summary: its code in LOINC, and the search for its resources. */
interface SummarySection {
  title: string
  code: string
  type: string
  query?: Readonly<Record<string, string>>
  /** Has only this many of each code, the newest. */
  newestOfCode?: number
}

/** A summary leaves out what was refuted or entered in error. */
const HOLDS = { 'verification-status:not': 'refuted,entered-in-error' }

/** The sections of the International Patient Summary for which the service has records. The first three are mandatory. */
const SECTIONS: readonly SummarySection[] = [
  {
    title: 'Medication summary',
    code: '10160-0',
    type: 'MedicationStatement',
    query: { status: 'active,on-hold,intended,unknown' },
  },
  { title: 'Allergies and intolerances', code: '48765-2', type: 'AllergyIntolerance', query: HOLDS },
  { title: 'Problems', code: '11450-4', type: 'Condition', query: HOLDS },
  { title: 'Immunizations', code: '11369-6', type: 'Immunization', query: { status: 'completed' } },
  { title: 'Medical devices', code: '46264-8', type: 'Device' },
  {
    title: 'Vital signs',
    code: '8716-3',
    type: 'Observation',
    query: { category: 'vital-signs' },
    newestOfCode: 3,
  },
  { title: 'Plan of care', code: '18776-5', type: 'CarePlan', query: { status: 'active' } },
]

/** The most entries of a section. */
const MAX_ENTRIES = '1000'

interface DescribedValue {
  code?: { text?: string }
  valueQuantity?: { value: number; unit: string }
}

interface DescribedResource extends FhirResource, DescribedValue {
  medicationCodeableConcept?: { text?: string }
  vaccineCode?: { text?: string }
  deviceName?: { name: string }[]
  component?: DescribedValue[]
}

const describeValue = ({ valueQuantity }: DescribedValue): string =>
  valueQuantity ? `: ${valueQuantity.value} ${valueQuantity.unit}` : ''

/** Statuses that a reader of a summary expects. */
const USUAL_STATUSES: readonly unknown[] = ['active', 'confirmed', 'completed', 'final', 'amended']

/** A line of text for people about a resource. */
function describe(resource: DescribedResource): string {
  const { code, medicationCodeableConcept, vaccineCode, title, deviceName, component = [] } = resource
  const name = [code?.text, medicationCodeableConcept?.text, vaccineCode?.text, title, deviceName?.[0]?.name]
  const statuses = ['status', 'clinicalStatus.coding[0].code', 'verificationStatus.coding[0].code'].flatMap(
    (path) => elementAt(resource, path) ?? [],
  )
  const unusual = statuses.filter((one) => !USUAL_STATUSES.includes(one))
  return [
    `${name.find((one) => one !== undefined) ?? resource.resourceType}${describeValue(resource)}`,
    ...component
      .filter(({ valueQuantity }) => valueQuantity)
      .map((one) => `${one.code?.text}${describeValue(one)}`),
    ...unusual,
  ].join(', ')
}

const narrative = (resources: readonly FhirResource[], note: string) => {
  const lines = resources.map((one) => `<li>${escapeMarkup(describe(one))}</li>`).join('')
  const content = (lines && `<ul>${lines}</ul>`) + (note && `<p>${note}</p>`)
  return { status: 'generated', div: `<div xmlns="http://www.w3.org/1999/xhtml">${content}</div>` }
}

/** An empty section does not mean that the person has none. */
const NO_ENTRIES = { code: 'unavailable', text: 'The record has no entries.' }
const NO_SCOPE = { code: 'withheld', text: 'The app may not see these entries.' }

/** The resources of a section, and whether the record has more. */
interface SectionEntries {
  resources: readonly FhirResource[]
  hasMore: boolean
}

/** What a section leaves out. */
function noteOf({ type, newestOfCode }: SummarySection, count: number, hasMore: boolean): string {
  if (newestOfCode !== undefined)
    return `The newest ${newestOfCode} of each kind at most. Search for ${type} to find all.`
  return hasMore ? `The record has more than these ${count}. Search for ${type} to find all.` : ''
}

/** @param entries undefined: the app of the caller may not search them */
function sectionOf(section: SummarySection, entries: SectionEntries | undefined) {
  const { title, code } = section
  const { code: reason, text } = entries ? NO_ENTRIES : NO_SCOPE
  const { resources = [], hasMore = false } = entries ?? {}
  const note = noteOf(section, resources.length, hasMore)
  return {
    title,
    code: { coding: [{ system: LOINC, code, display: title }] },
    text: narrative(resources, resources.length === 0 ? text : note),
    ...(resources.length > 0
      ? { entry: resources.map(({ resourceType, id }) => ({ reference: `${resourceType}/${id}` })) }
      : { emptyReason: { coding: [{ system: `${TERMINOLOGY}/list-empty-reason`, code: reason }] } }),
  }
}

/** The sources of a summary. */
interface SummarySources {
  /** The URL of the API. */
  base: string
  /** @throws NotFound */
  readPatient(): Promise<FhirResource>
  /**
   * @param newestOfCode finds only this many of each code, the newest
   * @returns undefined if the app of the caller may not search the type
   */
  search(
    type: string,
    query: Readonly<Record<string, string>>,
    newestOfCode?: number,
  ): Promise<FoundResources | undefined>
}

/**
 * The International Patient Summary as a document: a Composition, the patient, and the records that its sections name.
 * @throws NotFound; ContentTooLarge
 */
export async function patientSummary(
  id: string,
  { base, readPatient, search }: SummarySources,
  createdAt: string,
): Promise<FhirResource> {
  const patient = await readPatient()
  const sectionEntries: (SectionEntries | undefined)[] = []
  const limits = new BundleLimits('Search for the resources of each type.')
  for (const { type, query, newestOfCode } of SECTIONS) {
    const page = await search(type, { patient: id, _count: MAX_ENTRIES, ...query }, newestOfCode)
    sectionEntries.push(
      page && { resources: limits.countFound(page.resources), hasMore: page.next !== undefined },
    )
  }
  const documentId = randomUUID()
  const composition: FhirResource = {
    resourceType: 'Composition',
    id: documentId,
    status: 'final',
    type: { coding: [{ system: LOINC, code: '60591-5', display: 'Patient summary Document' }] },
    subject: { reference: `Patient/${id}` },
    date: createdAt,
    author: [{ display: SERVICE_NAME }],
    title: 'Patient summary',
    section: SECTIONS.map((section, i) => sectionOf(section, sectionEntries[i])),
  }
  return {
    resourceType: 'Bundle',
    identifier: { system: 'urn:ietf:rfc:3986', value: `urn:uuid:${documentId}` },
    type: 'document',
    timestamp: createdAt,
    entry: [composition, patient, ...sectionEntries.flatMap((one) => one?.resources ?? [])].map(
      (resource) => ({
        fullUrl: `${base}/${resource.resourceType}/${resource.id}`,
        resource,
      }),
    ),
  }
}
