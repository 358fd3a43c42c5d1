import type { GradeEnum } from '../../../schemas/enums.ts'
import {
  codingElement,
  conceptElement,
  conceptTextElement,
  constantElement,
  extensionElement,
  ownUri,
  referenceElement,
  TERMINOLOGY,
  valueElement,
} from '../../fhir/elements.ts'
import type { FhirElement } from '../../fhir/fhir-element.ts'
import type { FhirMapping } from '../../fhir/mapping.ts'
import { codesToken, constantToken, dateParameter, wordToken } from '../../fhir/search/search-parameters.ts'
import { clinicalStatusElement, ENTERED_IN_ERROR, sameWords } from './status-elements.ts'

const CLINICAL_STATUS = `${TERMINOLOGY}/condition-clinical`
const VERIFICATION_STATUS = `${TERMINOLOGY}/condition-ver-status`
const SNOMED = 'http://snomed.info/sct'
const PROBLEM = { system: `${TERMINOLOGY}/condition-category`, code: 'problem-list-item' }

/** SNOMED CT codes of the grades. */
const SEVERITIES: Record<(typeof GradeEnum)['static'], string> = {
  mild: '255604002',
  moderate: '6736007',
  severe: '24484000',
}

const abatement = valueElement('resolved', 'abatementDateTime')
const keptAbatement = extensionElement('resolved', ownUri('resolved'), 'valueDateTime')
const ENDED_STATUSES: readonly unknown[] = ['inactive', 'remission', 'resolved']

/** R4 allows an abatement only with these statuses (con-4), so that an extension keeps that of others. */
const abatementElement: FhirElement = {
  paths: abatement.paths,
  show: (record) => {
    const isEnded = ENDED_STATUSES.includes(record.status) && record.certainty !== ENTERED_IN_ERROR
    return (isEnded ? abatement : keptAbatement).show(record)
  },
  read: (resource) => {
    const values = abatement.read(resource)
    return values.resolved === undefined ? keptAbatement.read(resource) : values
  },
}

const HIDING_CERTAINTY = ['certainty', ENTERED_IN_ERROR] as const

/** A diagnosis as a Condition. */
export const conditionMapping = (
  statuses: readonly string[],
  certainties: readonly string[],
): FhirMapping => ({
  type: 'Condition',
  elements: [
    clinicalStatusElement('status', 'certainty', CLINICAL_STATUS),
    conceptElement('certainty', 'verificationStatus', VERIFICATION_STATUS),
    constantElement('category[0].coding', [PROBLEM]),
    conceptElement('severity', 'severity', SNOMED, SEVERITIES),
    codingElement('code', 'code'),
    conceptTextElement('name', 'code'),
    valueElement('bodySite', 'bodySite[0].text'),
    referenceElement('ehrId', 'subject', 'Patient'),
    valueElement('onset', 'onsetDateTime'),
    abatementElement,
    valueElement('recognised', 'recordedDate'),
    valueElement('comment', 'note[0].text'),
  ],
  required: ['subject', 'code'],
  search: {
    'clinical-status': {
      ...wordToken('Clinical status', 'status', sameWords(statuses), CLINICAL_STATUS),
      hiddenBy: HIDING_CERTAINTY,
    },
    'verification-status': wordToken(
      'Verification status',
      'certainty',
      sameWords(certainties),
      VERIFICATION_STATUS,
    ),
    category: constantToken('Category of the condition', [PROBLEM]),
    severity: wordToken('Severity', 'severity', SEVERITIES, SNOMED),
    code: codesToken('Code of the condition', 'codes'),
    'onset-date': dateParameter('Date of onset', 'onset', 'day'),
    'abatement-date': {
      ...dateParameter('Date of resolution', 'resolved', 'day'),
      hiddenBy: HIDING_CERTAINTY,
    },
    'recorded-date': dateParameter('Date of recognition', 'recognised', 'day'),
  },
})
