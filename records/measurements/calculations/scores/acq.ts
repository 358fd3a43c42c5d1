import type { AcqParams, AcqResult } from '../../../../schemas/acq.ts'
import type { Violation } from '../../../../schemas/violation.ts'
import { rounded } from '../../quantities/units.ts'

/** From this mean on asthma is not well controlled, and so large a change of the mean matters. */
const limitsAt = (age: unknown) =>
  typeof age === 'number' && age >= 6 && age < 18
    ? { uncontrolled: 1.25, important: 0.4 }
    : { uncontrolled: 1.5, important: 0.5 }

/** Scores the answers; null stands for an item without an answer, and there is no rule to fill it in. */
function scored(items: readonly (number | null)[], age: number | undefined): AcqResult {
  const answers = items.filter((item) => item !== null)
  if (answers.length < items.length || answers.length === 0)
    return { score: null, sum: null, answered: answers.length, control: null }
  const sum = answers.reduce((total, item) => total + item, 0)
  const mean = sum / answers.length
  const { uncontrolled } = limitsAt(age)
  const control =
    mean <= 0.75 ? 'well-controlled' : mean >= uncontrolled ? 'not-well-controlled' : 'borderline'
  return { score: rounded(mean, 2), sum, answered: answers.length, control }
}

/** The answer to item 6 that a number of puffs of reliever in 24 hours stands for. */
export const relieverItem = (puffs: number): number => {
  const item = [0, 2, 4, 8, 12, 16].findIndex((upTo) => puffs <= upTo)
  return item === -1 ? 6 : item
}

/** The answer to item 7 that a FEV1, in % of the predicted value, stands for. */
export const fev1Item = (percent: number): number => {
  if (percent > 95) return 0
  const item = [90, 80, 70, 60, 50].findIndex((from) => percent >= from)
  return item === -1 ? 6 : item + 1
}

/** Items 6 and 7: a version has one, it may be answered by a fact instead, but not in two ways. */
const FACTS = [
  { item: 6, fact: 'relieverPuffs', answer: relieverItem },
  { item: 7, fact: 'fev1PercentPredicted', answer: fev1Item },
] as const

/** What the schema cannot say about the parameters: as many answers as the version has items. */
export function acqViolations(params: AcqParams): Violation[] {
  const { version, answers } = params
  if (answers.length > version) return [tooMany(version)]
  const unanswered = Array.from({ length: version }, (_, i) => i + 1).filter(
    (item) =>
      item > answers.length && !FACTS.some((one) => one.item === item && params[one.fact] !== undefined),
  )
  return [
    ...(unanswered.length > 0 ? [tooFew(version, unanswered)] : []),
    ...FACTS.filter(({ fact }) => params[fact] !== undefined).flatMap(({ item, fact }) => {
      if (item > version) return [{ path: fact, code: 'version', message: `needs version ${item} or later` }]
      return answers[item - 1] == null ? [] : [twice(item, fact)]
    }),
  ]
}

const tooMany = (version: number): Violation => ({
  path: 'answers',
  code: 'length',
  message: `must contain at most ${version} items`,
})

const tooFew = (version: number, items: number[]): Violation => ({
  path: 'answers',
  code: 'length',
  message: `must contain ${version} items (null where there is no answer); missing: ${items.join(', ')}`,
})

const twice = (item: number, fact: string): Violation => ({
  path: fact,
  code: 'twice',
  message: `must be absent when item ${item} has an answer`,
})

/** The answers to all items of the version, 6 and 7 from reliever use and FEV1 where those are given. */
export function acqItems(params: AcqParams): (number | null)[] {
  const items = Array.from({ length: params.version }, (_, i) => params.answers[i] ?? null)
  for (const { item, fact, answer } of FACTS) {
    const value = params[fact]
    if (value !== undefined) items[item - 1] = answer(value)
  }
  return items
}

/** Scores the questionnaire. */
export const acq = (params: AcqParams): AcqResult => scored(acqItems(params), params.age)

/** How a mean differs from a former one, in either direction. */
export function acqChange(from: number, to: number, age?: unknown): { delta: number; important: boolean } {
  const difference = to - from
  // What the subtraction of two decimal fractions leaves behind is no smaller change.
  const important = rounded(Math.abs(difference), 9) >= limitsAt(age).important
  return { delta: rounded(difference, 2), important }
}
