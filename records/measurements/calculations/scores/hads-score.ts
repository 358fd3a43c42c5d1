import { roundTo } from '../../../../schemas/measurements/units.ts'

/** 0 to 3; null for an item without an answer. */
type HadsAnswer = number | null

interface HadsSubscale {
  /** 0 to 21; null when fewer than four of the seven items have an answer. */
  score: number | null
  /** The band of the unrounded score. */
  band: 'normal' | 'borderline' | 'abnormal' | null
  /** The number of items without an answer. */
  missing: number
}

const ITEMS_PER_SUBSCALE = 7

/** Items whose first printed option counts 3 and whose last one counts 0. */
const REVERSED_ITEMS = [1, 3, 5, 6, 8, 10, 11, 13]

/** The answers from the ticked options, given by their position on the form, from 0. */
export const hadsAnswersFromOptions = (optionIndex: readonly HadsAnswer[]): HadsAnswer[] =>
  optionIndex.map((option, i) => (option !== null && REVERSED_ITEMS.includes(i + 1) ? 3 - option : option))

/** The half rule: if fewer than half of the items are missing, each counts as the mean of the others. */
function scoreSubscale(items: readonly HadsAnswer[]): HadsSubscale {
  const answers = items.filter((answer) => answer !== null)
  const missing = ITEMS_PER_SUBSCALE - answers.length
  if (missing > answers.length) return { score: null, band: null, missing }
  const score = (answers.reduce((sum, answer) => sum + answer, 0) * ITEMS_PER_SUBSCALE) / answers.length
  const band = score <= 7 ? 'normal' : score <= 10 ? 'borderline' : 'abnormal'
  return { score: roundTo(score, 2), band, missing }
}

/**
 * Scores the Hospital Anxiety and Depression Scale: its odd items are about anxiety, the even ones about
 * depression.
 */
export const scoreHads = (answers: readonly HadsAnswer[]) => ({
  anxiety: scoreSubscale(answers.filter((_, i) => i % 2 === 0)),
  depression: scoreSubscale(answers.filter((_, i) => i % 2 === 1)),
})
