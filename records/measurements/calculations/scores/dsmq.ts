import { rounded } from '../../quantities/units.ts'

/** 0 to 3; NR where the treatment does not require it; null without an answer. */
type Answer = number | 'NR' | null

interface Scale {
  /** The sum of the answers, turned round where much is bad. */
  raw: number
  /** What it could be with as many answers. */
  max: number
  /** 0 to 10; higher is better. */
  score: number
  answered: number
}

const MOST = 3
const ITEMS = Array.from({ length: 16 }, (_, i) => i + 1)

/** Glucose management, dietary control, physical activity, health-care use, and the sum of all. */
export const SCALES = {
  GM: [1, 4, 6, 10, 12],
  DC: [2, 5, 9, 13],
  PA: [8, 11, 15],
  HU: [3, 7, 14],
  SS: ITEMS,
} as const satisfies Record<string, readonly number[]>

/** Of which much is bad. */
const REVERSED = [5, 7, 10, 11, 12, 13, 14, 15, 16]

type ScaleName = keyof typeof SCALES

function scaleOf(items: readonly number[], answers: readonly Answer[]): Scale | null {
  const points = items.flatMap((item) => {
    const answer = answers[item - 1]
    if (typeof answer !== 'number') return []
    return REVERSED.includes(item) ? MOST - answer : answer
  })
  const answered = points.length
  if (items.length - answered > answered) return null
  const raw = points.reduce((sum, point) => sum + point, 0)
  const max = MOST * answered
  return { raw, max, score: rounded((raw / max) * 10, 2), answered }
}

/** Scores the Diabetes Self-Management Questionnaire; a scale is null when more than half of its items are missing. */
export const dsmq = (answers: readonly Answer[]): Record<ScaleName, Scale | null> =>
  Object.fromEntries(
    Object.entries(SCALES).map(([name, items]) => [name, scaleOf(items, answers)]),
  ) as Record<ScaleName, Scale | null>
