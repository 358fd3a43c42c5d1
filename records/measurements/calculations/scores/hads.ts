import { rounded } from '../../quantities/units.ts'

/** 0 to 3; null for an item without an answer. */
type Answer = number | null

interface Subscale {
  /** 0 to 21; null when fewer than four of the seven items have an answer. */
  score: number | null
  /** By the unrounded score. */
  band: 'normal' | 'borderline' | 'abnormal' | null
  /** How many of its items have no answer. */
  missing: number
}

const ITEMS = 7

/** Those of the fourteen items of which the option that is printed first counts 3, and the last one 0. */
const FALLING = [1, 3, 5, 6, 8, 10, 11, 13]

/** What the options count that were ticked, by their places on the form, from 0. */
export const hadsAnswers = (optionIndex: readonly Answer[]): Answer[] =>
  optionIndex.map((option, i) => (option !== null && FALLING.includes(i + 1) ? 3 - option : option))

/** The half rule: the mean stands for what is missing, as long as that is less than half. */
function subscale(items: readonly Answer[]): Subscale {
  const answers = items.filter((answer) => answer !== null)
  const missing = ITEMS - answers.length
  if (missing > answers.length) return { score: null, band: null, missing }
  const score = (answers.reduce((sum, answer) => sum + answer, 0) * ITEMS) / answers.length
  const band = score <= 7 ? 'normal' : score <= 10 ? 'borderline' : 'abnormal'
  return { score: rounded(score, 2), band, missing }
}

/** Scores the Hospital Anxiety and Depression Scale: its odd items are about anxiety, the even ones about depression. */
export const hads = (answers: readonly Answer[]) => ({
  anxiety: subscale(answers.filter((_, i) => i % 2 === 0)),
  depression: subscale(answers.filter((_, i) => i % 2 === 1)),
})
