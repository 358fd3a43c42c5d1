import { Fraction } from '../../../../schemas/fraction.ts'

/** 0 to 3; NR: not required by the treatment; null: no answer. */
type DsmqAnswer = number | 'NR' | null

interface DsmqScale {
  /** The sum of the answers, after reversing the items in which a high answer is bad. */
  raw: number
  /** The highest possible sum for this number of answers. */
  max: number
  /** 0 to 10; higher is better. */
  score: number
  answered: number
}

const MAX_ANSWER = 3
const ALL_ITEMS = Array.from({ length: 16 }, (_, i) => i + 1)

/** Glucose management, dietary control, physical activity, health-care use, and the sum of all. */
export const DSMQ_SCALES = {
  GM: [1, 4, 6, 10, 12],
  DC: [2, 5, 9, 13],
  PA: [8, 11, 15],
  HU: [3, 7, 14],
  SS: ALL_ITEMS,
} as const satisfies Record<string, readonly number[]>

/** Items in which a high answer is bad. */
const REVERSED_ITEMS = [5, 7, 10, 11, 12, 13, 14, 15, 16]

type ScaleName = keyof typeof DSMQ_SCALES

/** The exact score of a scale. */
export const dsmqScoreOf = ({ raw, max }: Pick<DsmqScale, 'raw' | 'max'>): Fraction =>
  Fraction.of(10 * raw).dividedBy(max)

function scoreScale(items: readonly number[], answers: readonly DsmqAnswer[]): DsmqScale | null {
  const points = items.flatMap((item) => {
    const answer = answers[item - 1]
    if (typeof answer !== 'number') return []
    return REVERSED_ITEMS.includes(item) ? MAX_ANSWER - answer : answer
  })
  const answered = points.length
  if (items.length - answered > answered) return null
  const raw = points.reduce((sum, point) => sum + point, 0)
  const max = MAX_ANSWER * answered
  return { raw, max, score: dsmqScoreOf({ raw, max }).round(2), answered }
}

/**
 * Scores the Diabetes Self-Management Questionnaire; a scale is null when more than half of its items are
 * missing.
 */
export const scoreDsmq = (answers: readonly DsmqAnswer[]): Record<ScaleName, DsmqScale | null> =>
  Object.fromEntries(
    Object.entries(DSMQ_SCALES).map(([name, items]) => [name, scoreScale(items, answers)]),
  ) as Record<ScaleName, DsmqScale | null>
