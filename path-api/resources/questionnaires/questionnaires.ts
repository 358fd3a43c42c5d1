import { readFileSync } from 'node:fs'
import { questionnaireDefinitionOf } from '../../../records/questionnaires/questionnaire-definition.ts'
import {
  INSTRUMENT_NAMES,
  QuestionnaireDefinition,
  questionnaireLanguageParameter,
} from '../../../schemas/questionnaires/questionnaire.ts'
import { defineOperation } from '../../operation/operation.ts'
import { rawBody } from '../../reply/body-media.ts'
import { replyWithCacheableText } from '../../reply/cacheable-text.ts'

const questionnairesSource = 'Endpoints, EHR data'

const dsmqScript = readFileSync(new URL('../../browser/dsmq.js', import.meta.url), 'utf8')

const definitionOperations = INSTRUMENT_NAMES.map((instrument) => {
  const id = instrument.toLowerCase()
  return defineOperation({
    id: `get${instrument}Definition`,
    method: 'get',
    path: `/ehr/procedure/${id}/${id}.wizard.json`,
    summary: `Get the definition of the ${instrument}`,
    description: 'The texts are neutral labels of the service, or a text pack licensed by the operator.',
    source: questionnairesSource,
    ...(instrument !== 'DSMQ' && { extra: true }),
    access: 'public',
    query: { language: questionnaireLanguageParameter },
    reply: [200, QuestionnaireDefinition],
    handle: ({ query: { language } }, { textPacks }) =>
      questionnaireDefinitionOf(textPacks.find(instrument, language)),
  })
})

export const questionnaireOperations = [
  ...definitionOperations,
  defineOperation({
    id: 'getDsmqScript',
    method: 'get',
    path: '/ehr/procedure/dsmq/dsmq.js',
    summary: 'Get the script that shows the DSMQ on a page and stores the answers',
    description: 'Include the script in a page; see docs/questionnaires.md of the service.',
    source: questionnairesSource,
    access: 'public',
    reply: [200, rawBody('text/javascript')],
    // Pages of any origin may load the script; it contains no personal data.
    handle: () =>
      replyWithCacheableText(dsmqScript, 'text/javascript; charset=utf-8', {
        'cross-origin-resource-policy': 'cross-origin',
      }),
  }),
]
