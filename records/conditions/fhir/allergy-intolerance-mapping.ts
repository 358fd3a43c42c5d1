import { elementAt } from '../../fhir/element-paths.ts'
import {
  codingElement,
  conceptElement,
  conceptTextElement,
  referenceElement,
  TERMINOLOGY,
  valueElement,
} from '../../fhir/elements.ts'
import type { FhirElement } from '../../fhir/fhir-element.ts'
import type { FhirMapping } from '../../fhir/mapping.ts'
import { codesToken, dateParameter, wordToken } from '../../fhir/search/search-parameters.ts'
import { clinicalStatusElement, ENTERED_IN_ERROR, sameWords } from './status-elements.ts'

const CLINICAL_STATUS = `${TERMINOLOGY}/allergyintolerance-clinical`
const VERIFICATION_STATUS = `${TERMINOLOGY}/allergyintolerance-verification`

interface Reaction {
  manifestation?: unknown
  severity?: unknown
  onset?: unknown
}

const withoutUndefined = (values: object) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))

/** The observed reactions; each has one manifestation. */
const reactionsElement: FhirElement = {
  paths: { reactions: 'reaction' },
  show: ({ reactions }) => {
    const reactionElements = (Array.isArray(reactions) ? (reactions as Reaction[]) : []).map(
      ({ manifestation, ...more }) => ({
        manifestation: [{ text: manifestation }],
        ...withoutUndefined(more),
      }),
    )
    return reactionElements.length > 0 ? { reaction: reactionElements } : {}
  },
  read: ({ reaction }) => ({
    reactions: (Array.isArray(reaction) ? reaction : []).map((one) =>
      withoutUndefined({
        manifestation:
          elementAt(one, 'manifestation[0].text') ?? elementAt(one, 'manifestation[0].coding[0].display'),
        severity: elementAt(one, 'severity'),
        onset: elementAt(one, 'onset'),
      }),
    ),
  }),
}

interface Words {
  statuses: readonly string[]
  verifications: readonly string[]
  criticalities: readonly string[]
  categories: readonly string[]
}

/** An adverse reaction as an AllergyIntolerance. */
export const allergyIntoleranceMapping = (words: Words): FhirMapping => ({
  type: 'AllergyIntolerance',
  elements: [
    clinicalStatusElement('status', 'verification', CLINICAL_STATUS),
    conceptElement('verification', 'verificationStatus', VERIFICATION_STATUS),
    valueElement('category', 'category[0]'),
    valueElement('criticality', 'criticality'),
    codingElement('code', 'code'),
    conceptTextElement('substance', 'code'),
    referenceElement('ehrId', 'patient', 'Patient'),
    valueElement('firstOnset', 'onsetDateTime'),
    valueElement('lastOnset', 'lastOccurrence'),
    valueElement('comment', 'note[0].text'),
    reactionsElement,
  ],
  required: ['patient', 'code'],
  search: {
    'clinical-status': {
      ...wordToken('Clinical status', 'status', sameWords(words.statuses), CLINICAL_STATUS),
      hiddenBy: ['verification', ENTERED_IN_ERROR],
    },
    'verification-status': wordToken(
      'Verification status',
      'verification',
      sameWords(words.verifications),
      VERIFICATION_STATUS,
    ),
    criticality: wordToken('Criticality', 'criticality', sameWords(words.criticalities)),
    category: wordToken('Category of the substance', 'category', sameWords(words.categories)),
    code: codesToken('Code of the substance', 'codes'),
    onset: dateParameter('Date of the first reaction', 'firstOnset', 'day'),
    'last-date': dateParameter('Date of the latest reaction', 'lastOnset', 'day'),
  },
})
