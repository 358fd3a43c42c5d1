import { Fraction } from '../../../../schemas/fraction.ts'

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

/** The items about anxiety, and those about depression. */
const itemsOf = (answers: readonly HadsAnswer[]) => ({
  anxiety: answers.filter((_, i) => i % 2 === 0),
  depression: answers.filter((_, i) => i % 2 === 1),
})

/** The half rule: if fewer than half of the items are missing, each counts as the mean of the others. */
function exactScoreOf(items: readonly HadsAnswer[]): Fraction | undefined {
  const answers = items.filter((answer) => answer !== null)
  if (ITEMS_PER_SUBSCALE - answers.length > answers.length) return undefined
  const sum = answers.reduce((total, answer) => total + answer, 0)
  return Fraction.of(sum * ITEMS_PER_SUBSCALE).dividedBy(answers.length)
}

/** The exact scores of both subscales. */
export function exactHadsScores(answers: readonly HadsAnswer[]) {
  const { anxiety, depression } = itemsOf(answers)
  return { anxiety: exactScoreOf(anxiety), depression: exactScoreOf(depression) }
}

function scoreSubscale(items: readonly HadsAnswer[]): HadsSubscale {
  const missing = items.filter((answer) => answer === null).length
  const score = exactScoreOf(items)
  if (!score) return { score: null, band: null, missing }
  const band = score.compareTo(7) <= 0 ? 'normal' : score.compareTo(10) <= 0 ? 'borderline' : 'abnormal'
  return { score: score.round(2), band, missing }
}

/**
 * Scores the Hospital Anxiety and Depression Scale: its odd items are about anxiety, the even ones about
 * depression.
 */
export function scoreHads(answers: readonly HadsAnswer[]) {
  const { anxiety, depression } = itemsOf(answers)
  return { anxiety: scoreSubscale(anxiety), depression: scoreSubscale(depression) }
}
