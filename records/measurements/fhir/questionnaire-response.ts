import { type FhirJson, memberOf } from '../../fhir/element-paths.ts'
import { extensionElement, ownUri, referenceElement } from '../../fhir/elements.ts'
import type { FhirElement } from '../../fhir/fhir-element.ts'
import type { FhirMapping } from '../../fhir/mapping.ts'
import {
  dateParameter,
  type FhirSearchParameter,
  referenceParameter,
  versionToken,
} from '../../fhir/search/search-parameters.ts'
import { localTimeElement } from './local-time-element.ts'

/** The URI of a questionnaire, which names the version after `|`. */
export const questionnaireUri = (instrument: string): string => ownUri(`questionnaire:${instrument}`)

/** The version of a questionnaire whose records name none. */
const ONLY_VERSION = '1'

/** The answer that the treatment does not require what the item asks. */
export const NOT_REQUIRED = { system: ownUri('answer'), code: 'NR', display: 'Not required' }

const statusElement: FhirElement = {
  paths: {},
  show: ({ version }) => ({ status: Number(version ?? 1) > 1 ? 'amended' : 'completed' }),
  read: () => ({}),
  accepted: { status: ['completed', 'amended'] },
}

const questionnaireElement = (uri: string, versionField?: string): FhirElement => ({
  paths: versionField === undefined ? {} : { [versionField]: 'questionnaire' },
  rephrase: () => `must name a version of the Questionnaire, such as ${uri}|6`,
  show: (record) => ({
    questionnaire: versionField === undefined ? uri : `${uri}|${record[versionField]}`,
  }),
  read: ({ questionnaire }) =>
    versionField === undefined ? {} : { [versionField]: Number(String(questionnaire).split('|')[1]) },
  ...(versionField === undefined && { accepted: { questionnaire: [`${uri}|${ONLY_VERSION}`] } }),
})

const toAnswer = (value: unknown): FhirJson =>
  value === NOT_REQUIRED.code ? { valueCoding: NOT_REQUIRED } : { valueInteger: value }

const fromAnswer = (answer: unknown): unknown =>
  answer === undefined
    ? null
    : (memberOf(answer, 'valueInteger') ?? memberOf(memberOf(answer, 'valueCoding'), 'code') ?? answer)

/** The first answer of an item. */
const answerOf = (item: unknown): unknown => memberOf(memberOf(item, 'answer'), 0)

const itemsOf = ({ item }: FhirJson): FhirJson[] =>
  Array.isArray(item) ? item.filter((one) => typeof one === 'object' && one !== null) : []

/** A list of answers as items, numbered from 1. @param prefix of the link ids */
export const answersElement = (field: string, prefix = ''): FhirElement => {
  const number = new RegExp(`^${prefix}([1-9]\\d?)$`)
  return {
    paths: { [field]: 'item' },
    rephrase: (message) => message.replace('null for a missing answer', 'without answer where there is none'),
    show: (record) => {
      const answers = record[field]
      if (!Array.isArray(answers)) return {}
      const item = answers.map((value, i) => ({
        linkId: `${prefix}${i + 1}`,
        ...(value !== null && { answer: [toAnswer(value)] }),
      }))
      return { item }
    },
    read: (resource) => {
      const answers: unknown[] = []
      for (const item of itemsOf(resource)) {
        const [, position] = number.exec(String(item.linkId)) ?? []
        if (position !== undefined) answers[Number(position) - 1] = fromAnswer(answerOf(item))
      }
      return { [field]: answers.length === 0 ? undefined : Array.from(answers, (one) => one ?? null) }
    },
  }
}

/** A number as an item. */
export const numberItem = (field: string, valueType: 'valueInteger' | 'valueDecimal'): FhirElement => ({
  paths: { [field]: `item.where(linkId='${field}').answer.${valueType}` },
  show: (record) =>
    record[field] === undefined
      ? {}
      : { item: [{ linkId: field, answer: [{ [valueType]: record[field] }] }] },
  read: (resource) => {
    const answer = answerOf(itemsOf(resource).find(({ linkId }) => linkId === field))
    return { [field]: memberOf(answer, 'valueInteger') ?? memberOf(answer, 'valueDecimal') }
  },
})

/** Whether a text is the URI of the questionnaire, of any version. */
const isUri = (uri: string, text: unknown): boolean => String(text).split('|')[0] === uri

const questionnaireParameter = (uri: string, versionField?: string): FhirSearchParameter => ({
  type: 'reference',
  description: 'URI of the questionnaire',
  modifiers: [],
  where: ({ text }) => {
    if (!isUri(uri, text)) return false
    const [, version] = text.split('|')
    if (version === undefined) return true
    if (versionField === undefined) return version === ONLY_VERSION
    return /^\d{1,4}$/.test(version) && { [versionField]: Number(version) }
  },
})

/**
 * The answers to a questionnaire.
 * @param versionField the field with the version of the questionnaire
 */
export function questionnaireResponse(
  instrument: string,
  items: readonly FhirElement[],
  versionField?: string,
): FhirMapping {
  const uri = questionnaireUri(instrument)
  return {
    type: 'QuestionnaireResponse',
    elements: [
      statusElement,
      questionnaireElement(uri, versionField),
      referenceElement('ehrId', 'subject', 'Patient'),
      referenceElement('carePlanId', 'basedOn[0]', 'CarePlan'),
      localTimeElement('authored'),
      ...items,
      extensionElement('deviceId', ownUri('device'), 'valueString'),
      extensionElement('comment', ownUri('comment'), 'valueString'),
      extensionElement('source', ownUri('source'), 'valueCode'),
    ],
    required: ['status', 'questionnaire', 'subject', 'authored', 'item'],
    search: {
      questionnaire: questionnaireParameter(uri, versionField),
      authored: dateParameter('Time of answering', 'timestamp'),
      status: versionToken('completed'),
      'based-on': referenceParameter('Care plan', 'carePlanId', 'CarePlan'),
    },
    sortedBy: 'authored',
    isMeant: ({ questionnaire }) => isUri(uri, questionnaire),
  }
}
