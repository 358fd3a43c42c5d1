import { readFileSync } from 'node:fs'
import { definitionOf } from '../../records/questionnaires/definition.ts'
import { INSTRUMENTS, QuestionnaireDefinition, questionnaireLanguage } from '../../schemas/questionnaire.ts'
import { raw } from '../answer/media.ts'
import { revalidated } from '../answer/revalidated.ts'
import { operation } from '../operation/operation.ts'

const source = 'Endpoints, EHR data'

const script = readFileSync(new URL('../browser/dsmq.js', import.meta.url), 'utf8')

const definitions = INSTRUMENTS.map((instrument) => {
  const id = instrument.toLowerCase()
  return operation({
    id: `get${instrument}Definition`,
    method: 'get',
    path: `/ehr/procedure/${id}/${id}.wizard.json`,
    summary: `Get the definition of the ${instrument}`,
    description:
      'Its texts are the service’s neutral labels, or those of a text pack that the operator has licensed.',
    source,
    ...(instrument !== 'DSMQ' && { extra: true }),
    access: 'public',
    query: { language: questionnaireLanguage },
    reply: [200, QuestionnaireDefinition],
    handle: ({ query: { language } }, { textPacks }) => definitionOf(textPacks.of(instrument, language)),
  })
})

export const questionnaires = [
  ...definitions,
  operation({
    id: 'getDsmqScript',
    method: 'get',
    path: '/ehr/procedure/dsmq/dsmq.js',
    summary: 'Get the script that shows the DSMQ on a page and stores the answers',
    description: 'docs/questionnaires.md explains how to put it on a page.',
    source,
    access: 'public',
    reply: [200, raw('text/javascript')],
    // Pages of any origin may load it: it holds nothing of anybody.
    handle: () =>
      revalidated(script, 'text/javascript; charset=utf-8', {
        'cross-origin-resource-policy': 'cross-origin',
      }),
  }),
]
