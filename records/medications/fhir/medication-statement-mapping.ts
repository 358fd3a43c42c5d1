import { MedicationStatusEnum } from '../../../schemas/enums.ts'
import { sameWords } from '../../conditions/fhir/status-elements.ts'
import {
  codingElement,
  conceptTextElement,
  itemElement,
  referencedId,
  referenceElement,
  valueElement,
} from '../../fhir/elements.ts'
import type { FhirElement } from '../../fhir/fhir-element.ts'
import type { FhirMapping } from '../../fhir/mapping.ts'
import {
  codesToken,
  type FhirSearchParameter,
  periodParameter,
  referenceParameter,
  wordToken,
} from '../../fhir/search/search-parameters.ts'

/** Resource types of those who report a medication. */
const SOURCE_TYPES = {
  patient: 'Patient',
  'related-person': 'RelatedPerson',
  practitioner: 'Practitioner',
} as const

/** Only the patient is known; of others the record has the role. */
const sourceElement: FhirElement = {
  paths: { informationSource: 'informationSource' },
  show: ({ informationSource: source, ehrId }) => {
    const type = SOURCE_TYPES[source as keyof typeof SOURCE_TYPES]
    if (type === undefined) return {}
    const who = type === 'Patient' ? { reference: `Patient/${ehrId}` } : { display: type }
    return { informationSource: { type, ...who } }
  },
  read: ({ informationSource }) => {
    const { type, reference } = (informationSource ?? {}) as { type?: unknown; reference?: unknown }
    const isOf = (name: string) => type === name || referencedId(reference, name) !== undefined
    const [sourceType] = Object.entries(SOURCE_TYPES).find(([, name]) => isOf(name)) ?? []
    return { informationSource: sourceType ?? type }
  },
}

const ofPatient = referenceParameter('Patient who reports the medication', 'ehrId', 'Patient')

/** Only the patient is known among those who report a medication. */
const sourceParameter: FhirSearchParameter = {
  ...ofPatient,
  path: 'informationSource',
  field: 'informationSource',
  where: (value) => {
    const patient = ofPatient.where(value)
    return typeof patient === 'object' && { ...patient, informationSource: 'patient' }
  },
}

/** A medication as a MedicationStatement. */
export const medicationStatementMapping: FhirMapping = {
  type: 'MedicationStatement',
  elements: [
    valueElement('status', 'status'),
    valueElement('statusReason', 'statusReason[0].text'),
    conceptTextElement('name', 'medicationCodeableConcept'),
    codingElement('code', 'medicationCodeableConcept'),
    referenceElement('ehrId', 'subject', 'Patient'),
    valueElement('start', 'effectivePeriod.start'),
    valueElement('end', 'effectivePeriod.end'),
    valueElement('asserted', 'dateAsserted'),
    sourceElement,
    valueElement('reason', 'reasonCode[0].text'),
    valueElement('comment', 'note[0].text'),
    itemElement('dosage', [
      valueElement('dosage', 'text'),
      valueElement('asNeeded', 'asNeededBoolean'),
      valueElement('route', 'route.text'),
    ]),
  ],
  required: ['status', 'medicationCodeableConcept', 'subject'],
  search: {
    code: codesToken('Code of the medication', 'codes'),
    status: wordToken('Status', 'status', sameWords(MedicationStatusEnum.enum)),
    effective: periodParameter('Period of taking it', ['start'], ['end']),
    source: sourceParameter,
  },
  sortedBy: 'effective',
  list: 'byStart',
}
