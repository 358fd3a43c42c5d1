import { elementAt } from '../../fhir/element-paths.ts'
import {
  codeElement,
  extensionElement,
  ownUri,
  referencedId,
  referenceElement,
  TERMINOLOGY,
  valueElement,
} from '../../fhir/elements.ts'
import type { FhirElement } from '../../fhir/fhir-element.ts'
import type { FhirMapping } from '../../fhir/mapping.ts'
import { dateParameter, wordToken } from '../../fhir/search/search-parameters.ts'

const STATUSES = { ACTIVE: 'active', COMPLETED: 'completed', CANCELLED: 'cancelled' }
const ACHIEVEMENTS: Readonly<Record<string, string>> = {
  ACTIVE: 'in-progress',
  COMPLETED: 'achieved',
  CANCELLED: 'not-achieved',
}

const achievementElement: FhirElement = {
  paths: {},
  show: ({ status }) => ({
    achievementStatus: {
      coding: [{ system: `${TERMINOLOGY}/goal-achievement`, code: ACHIEVEMENTS[String(status ?? 'ACTIVE')] }],
    },
  }),
  read: () => ({}),
  derived: ['achievementStatus.coding[0].code'],
}

/** R4 has no element for the plan of a goal. */
const planReferenceElement = (): FhirElement => {
  const url = ownUri('care-plan')
  return {
    paths: { carePlanId: `extension.where(url='${url}').valueReference` },
    show: ({ carePlanId }) =>
      carePlanId === undefined
        ? {}
        : { extension: [{ url, valueReference: { reference: `CarePlan/${carePlanId}` } }] },
    read: ({ extension }) => {
      const planExtension = (Array.isArray(extension) ? extension : []).find((one) => one?.url === url)
      return { carePlanId: referencedId(elementAt(planExtension, 'valueReference.reference'), 'CarePlan') }
    },
  }
}

export const goalMapping: FhirMapping = {
  type: 'Goal',
  elements: [
    codeElement('status', 'lifecycleStatus', STATUSES),
    achievementElement,
    valueElement('name', 'description.text'),
    referenceElement('ehrId', 'subject', 'Patient'),
    planReferenceElement(),
    valueElement('dueDate', 'target[0].dueDate'),
    valueElement('achievementDate', 'statusDate'),
    valueElement('notes', 'note[0].text'),
    extensionElement('description', ownUri('description'), 'valueString'),
    extensionElement('outcome', ownUri('outcome'), 'valueString'),
  ],
  required: ['lifecycleStatus', 'description', 'subject'],
  search: {
    'lifecycle-status': wordToken('Status of the goal', 'status', STATUSES),
    'achievement-status': wordToken(
      'Achievement of the goal',
      'status',
      ACHIEVEMENTS,
      `${TERMINOLOGY}/goal-achievement`,
    ),
    'target-date': dateParameter('Due date of the goal', 'dueDate', 'day'),
  },
}
