import { useQueryClient } from '@tanstack/react-query'
import { createIdempotencyKey } from 'health-record-client'
import { forgetRequest, keepRequest, requestOf } from '../../browser/drafts.ts'
import type { Me } from '../../model/me.ts'
import { ehrKey } from '../../model/queries.ts'
import { api } from '../../session/user-session.ts'
import { toOffsetTime } from '../../texts/format.ts'
import {
  isRefusal,
  type MeasurementToSend,
  sendMeasurement,
  sourceOf,
} from '../measurement/send-measurement.ts'
import { itemsOf, type Questionnaire, type QuestionnaireItem } from './questionnaire-query.ts'

export type Answer = number | 'NR'
/** By the numbers of the items. */
export type Answers = Readonly<Record<string, Answer>>

interface AnswerOption {
  value: Answer
  label: string
}

/** The options of an item, in the order in which they are shown. */
export const optionsOf = (
  { scale, notRequired }: Questionnaire,
  { scale: own, allowNotRequired }: QuestionnaireItem,
): AnswerOption[] => [...(own ?? scale), ...(allowNotRequired && notRequired ? [notRequired] : [])]

/** The ACQ has versions of 5, 6 and 7 items. The last items that nobody has answered do not count. */
function countItems(questionnaire: Questionnaire, answers: Answers): number {
  const items = itemsOf(questionnaire)
  if (!('version' in questionnaire.submit.body)) return items.length
  return Math.max(...items.filter((one) => one.required || one.number in answers).map(({ number }) => number))
}

/** Whether each item that is sent has an answer. The service has rules of its own for scores without some of them. */
export const isComplete = (questionnaire: Questionnaire, answers: Answers): boolean =>
  itemsOf(questionnaire).every(
    ({ number }) => number in answers || number > countItems(questionnaire, answers),
  )

function toBody(questionnaire: Questionnaire, answers: Answers) {
  const count = countItems(questionnaire, answers)
  return {
    answers: Array.from({ length: count }, (_, i) => answers[i + 1] ?? null),
    ...('version' in questionnaire.submit.body && { version: count }),
  }
}

/** Stores answers; the same ones have one key and one time, so that a second tap or a retry stores them once. */
export function useSaveAnswers(me: Me, questionnaire: Questionnaire) {
  const queries = useQueryClient()
  const slot = `${me.mvUid}:answers:${me.ehrId}:${questionnaire.id}`
  return async (answers: Answers): Promise<void> => {
    const body = toBody(questionnaire, answers)
    const text = JSON.stringify(body)
    const toRequest = (): MeasurementToSend => ({
      key: createIdempotencyKey(),
      ehrId: me.ehrId,
      kind: questionnaire.id,
      body: { ...body, timestamp: toOffsetTime(new Date()), ...sourceOf(me) },
    })
    const keep = (complete: MeasurementToSend) => keepRequest(slot, text, complete)
    try {
      await sendMeasurement(api, requestOf(slot, text, toRequest), { keep })
    } catch (error) {
      // Its key would get the same answer again, although the reason may be gone.
      if (isRefusal(error)) forgetRequest(slot)
      throw error
    }
    forgetRequest(slot)
    await queries.invalidateQueries({ queryKey: ehrKey(me.ehrId) })
  }
}
