import { queryOptions } from '@tanstack/react-query'
import type { components } from 'health-record-client'
import { api } from '../../session/user-session.ts'
import type { Language } from '../../texts/language.ts'

export type Questionnaire = components['schemas']['QuestionnaireDefinition']
export type QuestionnaireItem = Questionnaire['pages'][number]['items'][number]

export const QUESTIONNAIRES = ['acq', 'hads', 'dsmq'] as const
export type QuestionnaireId = (typeof QUESTIONNAIRES)[number]

/** The texts and options of a questionnaire, in the language of the reader if the service has them in it. */
export const questionnaireQuery = (id: QuestionnaireId, language: Language) =>
  queryOptions({
    queryKey: ['questionnaire', id, language],
    queryFn: async () => {
      const path = `/ehr/procedure/${id}/${id}.wizard.json` as '/ehr/procedure/acq/acq.wizard.json'
      return (await api.GET(path, { params: { query: { language } } })).data
    },
  })

export const itemsOf = ({ pages }: Questionnaire): QuestionnaireItem[] => pages.flatMap(({ items }) => items)
