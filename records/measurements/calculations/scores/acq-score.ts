import { Fraction } from '../../../../schemas/fraction.ts'
import type { AcqParams, AcqResult } from '../../../../schemas/measurements/acq.ts'
import type { Violation } from '../../../../schemas/validation/violations.ts'

/**
 * By age: the mean from which asthma is not well controlled, and the smallest clinically important change.
 */
const acqLimitsAt = (age: unknown) =>
  typeof age === 'number' && age >= 6 && age < 18
    ? { uncontrolled: 1.25, important: 0.4 }
    : { uncontrolled: 1.5, important: 0.5 }

/** The exact mean of the answers. */
export const acqMeanOf = (sum: number, answerCount: number): Fraction =>
  Fraction.of(sum).dividedBy(answerCount)

/** Scores the answers. null is a missing answer; the questionnaire has no rule that fills it in. */
function scoreItems(items: readonly (number | null)[], age: number | undefined): AcqResult {
  const answers = items.filter((item) => item !== null)
  if (answers.length < items.length || answers.length === 0)
    return { score: null, sum: null, answered: answers.length, control: null }
  const sum = answers.reduce((total, item) => total + item, 0)
  const mean = acqMeanOf(sum, answers.length)
  const { uncontrolled } = acqLimitsAt(age)
  const control =
    mean.compareTo(0.75) <= 0
      ? 'well-controlled'
      : mean.compareTo(uncontrolled) >= 0
        ? 'not-well-controlled'
        : 'borderline'
  return { score: mean.round(2), sum, answered: answers.length, control }
}

/** The answer to item 6 for a number of reliever puffs in 24 hours. */
export const relieverItem = (puffs: number): number => {
  const item = [0, 2, 4, 8, 12, 16].findIndex((upTo) => puffs <= upTo)
  return item === -1 ? 6 : item
}

/** The answer to item 7 for an FEV1 in % of the predicted value. */
export const fev1Item = (percent: number): number => {
  if (percent > 95) return 0
  const item = [90, 80, 70, 60, 50].findIndex((from) => percent >= from)
  return item === -1 ? 6 : item + 1
}

/** Items 6 and 7 can be answered directly or by a fact, but not both ways. Not every version has them. */
const FACT_ITEMS = [
  { item: 6, fact: 'relieverPuffs', answer: relieverItem },
  { item: 7, fact: 'fev1PercentPredicted', answer: fev1Item },
] as const

/**
 * The violations that the schema cannot find, such as a number of answers other than the version's number of
 * items.
 */
export function acqViolations(params: AcqParams): Violation[] {
  const { version, answers } = params
  if (answers.length > version) return [tooManyAnswersViolation(version)]
  const unansweredItems = Array.from({ length: version }, (_, i) => i + 1).filter(
    (item) =>
      item > answers.length && !FACT_ITEMS.some((one) => one.item === item && params[one.fact] !== undefined),
  )
  return [
    ...(unansweredItems.length > 0 ? [tooFewAnswersViolation(version, unansweredItems)] : []),
    ...FACT_ITEMS.filter(({ fact }) => params[fact] !== undefined).flatMap(({ item, fact }) => {
      if (item > version) return [{ path: fact, code: 'version', message: `needs version ${item} or later` }]
      return answers[item - 1] == null ? [] : [answeredTwiceViolation(item, fact)]
    }),
  ]
}

const tooManyAnswersViolation = (version: number): Violation => ({
  path: 'answers',
  code: 'length',
  message: `must contain at most ${version} items`,
})

const tooFewAnswersViolation = (version: number, items: number[]): Violation => ({
  path: 'answers',
  code: 'length',
  message: `must contain ${version} items, null for a missing answer. Missing: items ${items.join(', ')}`,
})

const answeredTwiceViolation = (item: number, fact: string): Violation => ({
  path: fact,
  code: 'twice',
  message: `must be left out when item ${item} has an answer`,
})

/**
 * The answers to all items of the version; items 6 and 7 come from reliever use and FEV1 if those are given.
 */
export function acqItemsOf(params: AcqParams): (number | null)[] {
  const items = Array.from({ length: params.version }, (_, i) => params.answers[i] ?? null)
  for (const { item, fact, answer } of FACT_ITEMS) {
    const value = params[fact]
    if (value !== undefined) items[item - 1] = answer(value)
  }
  return items
}

export const scoreAcq = (params: AcqParams): AcqResult => scoreItems(acqItemsOf(params), params.age)

/** The change from an earlier mean, in either direction. */
export function compareAcqMeans(
  from: number | Fraction,
  to: number | Fraction,
  age?: unknown,
): { delta: number; important: boolean } {
  const difference = Fraction.of(to).minus(from)
  const limit = acqLimitsAt(age).important
  const important = difference.compareTo(limit) >= 0 || difference.compareTo(-limit) <= 0
  return { delta: difference.round(2), important }
}
