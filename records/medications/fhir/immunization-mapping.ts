import { ImmunisationStatusEnum } from '../../../schemas/enums.ts'
import { sameWords } from '../../conditions/fhir/status-elements.ts'
import {
  codingElement,
  conceptElement,
  conceptTextElement,
  itemElement,
  referenceElement,
  TERMINOLOGY,
  UNKNOWN_VALUE,
  valueElement,
} from '../../fhir/elements.ts'
import type { FhirElement } from '../../fhir/fhir-element.ts'
import type { FhirMapping } from '../../fhir/mapping.ts'
import { codesToken, dateParameter, wordToken } from '../../fhir/search/search-parameters.ts'

/** FHIR demands an occurrence. */
const unknownDateElement: FhirElement = {
  paths: {},
  show: ({ date }) => (date === undefined ? { _occurrenceDateTime: UNKNOWN_VALUE } : {}),
  read: () => ({}),
}

/** FHIR demands the number of the dose if there is a disease or a series. */
const unknownDoseElement: FhirElement = {
  paths: {},
  show: ({ doseNumber, seriesDoses, targetDisease }) =>
    doseNumber === undefined && (seriesDoses !== undefined || targetDisease !== undefined)
      ? { _doseNumberString: UNKNOWN_VALUE }
      : {},
  read: () => ({}),
}

/** An immunisation as an Immunization. */
export const immunizationMapping: FhirMapping = {
  type: 'Immunization',
  elements: [
    valueElement('status', 'status'),
    valueElement('statusReason', 'statusReason.text'),
    conceptTextElement('vaccine', 'vaccineCode'),
    codingElement('code', 'vaccineCode'),
    referenceElement('ehrId', 'patient', 'Patient'),
    valueElement('date', 'occurrenceDateTime'),
    unknownDateElement,
    valueElement('primarySource', 'primarySource'),
    conceptElement('reportOrigin', 'reportOrigin', `${TERMINOLOGY}/immunization-origin`),
    valueElement('manufacturer', 'manufacturer.display'),
    valueElement('lotNumber', 'lotNumber'),
    valueElement('expiry', 'expirationDate'),
    valueElement('site', 'site.text'),
    valueElement('route', 'route.text'),
    valueElement('performer', 'performer[0].actor.display'),
    valueElement('comment', 'note[0].text'),
    itemElement('protocolApplied', [
      valueElement('targetDisease', 'targetDisease[0].text'),
      valueElement('doseNumber', 'doseNumberPositiveInt'),
      unknownDoseElement,
      valueElement('seriesDoses', 'seriesDosesPositiveInt'),
    ]),
  ],
  required: ['status', 'vaccineCode', 'patient'],
  search: {
    'vaccine-code': codesToken('Code of the vaccine', 'codes'),
    status: wordToken('Status', 'status', sameWords(ImmunisationStatusEnum.enum)),
    date: dateParameter('Day of the immunisation', 'date', 'day'),
  },
  sortedBy: 'date',
  list: 'byDate',
}
