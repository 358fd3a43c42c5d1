import {
  codeElement,
  constantElement,
  extensionElement,
  ownUri,
  referenceElement,
  valueElement,
} from '../../fhir/elements.ts'
import type { FhirElement } from '../../fhir/fhir-element.ts'
import type { FhirMapping } from '../../fhir/mapping.ts'
import { dateParameter, wordToken } from '../../fhir/search-parameters.ts'
import { metadataElement, periodEndElement, plannedDateElement } from './plan-elements.ts'

const STATUSES = { ACTIVE: 'active', COMPLETED: 'completed', CANCELLED: 'revoked' }

const startElement = plannedDateElement(
  { actual: 'actualStartDate', planned: 'proposedStartDate' },
  'period.start',
  () => false,
)

const endElement = plannedDateElement(
  { actual: 'achievementDate', planned: 'dueDate' },
  'period.end',
  ({ status }) => status === STATUSES.ACTIVE,
)

/** A plan and its participants have the same id. */
const careTeamElement: FhirElement = {
  paths: {},
  show: ({ id }) => ({ careTeam: [{ reference: `CareTeam/${id}` }] }),
  read: () => ({}),
}

export const carePlanMapping: FhirMapping = {
  type: 'CarePlan',
  elements: [
    codeElement('status', 'status', STATUSES),
    constantElement('intent', 'plan'),
    valueElement('name', 'title'),
    valueElement('description', 'description'),
    referenceElement('ehrId', 'subject', 'Patient'),
    startElement,
    periodEndElement(startElement, endElement),
    metadataElement('createdAt', 'created'),
    careTeamElement,
    valueElement('notes', 'note[0].text'),
    extensionElement('outcome', ownUri('outcome'), 'valueString'),
    extensionElement('language', ownUri('language'), 'valueString'),
    extensionElement('anonymous', ownUri('anonymous'), 'valueBoolean'),
  ],
  required: ['status', 'intent', 'subject', 'title'],
  search: {
    status: wordToken('Status', 'status', STATUSES),
    date: dateParameter('Actual start of the plan', 'actualStartDate', 'day'),
  },
  list: 'newest',
}
