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
import {
  constantToken,
  periodParameter,
  referenceParameter,
  wordToken,
} from '../../fhir/search/search-parameters.ts'
import { metadataElement, periodEndElement, plannedDateElement } from './plan-elements.ts'

const STATUSES = { ACTIVE: 'active', COMPLETED: 'completed', CANCELLED: 'revoked' }

const startElement = plannedDateElement(
  { actual: 'actualStartDate', planned: 'proposedStartDate' },
  'period.start',
)

const endElement = plannedDateElement(
  { actual: 'achievementDate', planned: 'dueDate' },
  'period.end',
  ({ status }) => status === STATUSES.ACTIVE,
)

/** The category that US Core gives to every plan, and its code in SNOMED CT. */
const CATEGORY = [
  { system: 'http://hl7.org/fhir/us/core/CodeSystem/careplan-category', code: 'assess-plan' },
  { system: 'http://snomed.info/sct', code: '734163000' },
]

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
    constantElement('category[0].coding', CATEGORY),
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
    intent: constantToken('Intent: always plan', [{ code: 'plan' }]),
    category: constantToken('Category of the plan, the same for all', CATEGORY),
    date: periodParameter(
      'Period of the plan: the actual days, or else the planned ones',
      ['actualStartDate', 'proposedStartDate'],
      ['achievementDate', 'dueDate'],
    ),
    'care-team': { ...referenceParameter('Team of the plan', 'id', 'CareTeam'), path: 'careTeam[0]' },
  },
  list: 'newest',
}
