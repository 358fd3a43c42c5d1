import assert from 'node:assert/strict'
import { MEASUREMENT_KINDS } from '../../../../records/kinds.ts'
import { PlanThresholds } from '../../../../records/measurements/alerts/plan-thresholds.ts'
import type { AlertBands } from '../../../../records/measurements/calculations/thresholds.ts'
import type { MeasurementKind } from '../../../../records/measurements/measurement.ts'
import type { ParseDocument } from '../../../../records/store/documents/parse-format.ts'
import type { Bounds } from '../../../../schemas/measurements/thresholds.ts'
import { convertibleUnitNames } from '../../../../schemas/measurements/units.ts'
import type { Random } from '../../../fuzz/generator/context/random.ts'
import {
  CASES,
  checkCases,
  compare,
  decimalNear,
  fromOwn,
  nearOneOf,
  over,
  type Ratio,
  ratio,
  rounded,
  times,
  toOwn,
} from './ratio.ts'

type Values = Record<string, unknown>

/** A record as clients send it, and the exact values of its series in their own unit. */
interface Measured {
  values: Values
  exact: Record<string, Ratio | undefined>
}

/** UCUM codes; further names mean the same. */
const codesOf = (unit: string) => {
  const codes = convertibleUnitNames(unit).filter((name) =>
    /^(mm\[Hg\]|kPa|Cel|\[.*\]|K|kg|g|m|cm|\/min|%|mmol\/L|mg\/dL|kg\/m2|\{score\})$/.test(name),
  )
  assert.ok(codes.length > 0, unit)
  return codes
}

/** A measurement with values on the given bounds, or beside them. */
type MeasureNear = (random: Random, kind: MeasurementKind, bounds: readonly Ratio[]) => Measured

const quantitiesNear: MeasureNear = (random, { quantities }, bounds) => {
  const measured: Measured = { values: {}, exact: {} }
  for (const [name, { unit }] of Object.entries(quantities)) {
    const code = random.pick(codesOf(unit))
    const inUnit = bounds.map((bound) => fromOwn(bound, code))
    const { number, value } = nearOneOf(random, inUnit, 700)
    Object.assign(measured.values, { [name]: number, [`${name}Unit`]: code })
    measured.exact[name] = toOwn(value, code)
  }
  return measured
}

const bmiNear: MeasureNear = (random, _, bounds) => {
  const millimetres = random.int(1000, 2300)
  const weightUnit = random.pick(['kg', '[lb_av]'])
  const height: Ratio = [BigInt(millimetres), 1000n]
  const weights = bounds.map((bound) => fromOwn(times(bound, times(height, height)), weightUnit))
  const weight = nearOneOf(random, weights, 300)
  return {
    values: { weight: weight.number, weightUnit, height: millimetres / 1000, heightUnit: 'm' },
    exact: { bmi: over(toOwn(weight.value, weightUnit), times(height, height)) },
  }
}

const sumOf = (items: readonly (number | null)[]) => items.reduce<number>((sum, item) => sum + (item ?? 0), 0)
const answersOf = (random: Random, length: number, max: number) =>
  Array.from({ length }, () => (random.chance(0.1) ? null : random.int(0, max)))
const mean = (sum: number, count: number): Ratio | undefined =>
  count > 0 ? [BigInt(sum), BigInt(count)] : undefined

const REVERSED = [5, 7, 10, 11, 12, 13, 14, 15, 16]
const SCALES: Record<string, readonly number[]> = {
  GM: [1, 4, 6, 10, 12],
  DC: [2, 5, 9, 13],
  PA: [8, 11, 15],
  HU: [3, 7, 14],
  SS: Array.from({ length: 16 }, (_, i) => i + 1),
}

const SCORES: Record<string, (random: Random) => Measured> = {
  Acq(random) {
    const acqVersion = random.pick([5, 6, 7])
    const answers = answersOf(random, acqVersion, 6)
    const score = answers.includes(null) ? undefined : mean(sumOf(answers), acqVersion)
    return { values: { acqVersion, answers }, exact: { score } }
  },
  Hads(random) {
    const answers = answersOf(random, 14, 3)
    const scoreOf = (rest: number) => {
      const scoredItems = answers.filter((item, i) => i % 2 === rest && item !== null)
      return scoredItems.length < 4 ? undefined : mean(7 * sumOf(scoredItems), scoredItems.length)
    }
    return { values: { answers }, exact: { anxiety: scoreOf(0), depression: scoreOf(1) } }
  },
  Dsmq(random) {
    const answers = answersOf(random, 16, 3)
    const scoreOf = (members: readonly number[]) => {
      const points = members.flatMap((item) => {
        const answer = answers[item - 1] ?? null
        return answer === null ? [] : [REVERSED.includes(item) ? 3 - answer : answer]
      })
      return 2 * points.length < members.length ? undefined : mean(10 * sumOf(points), 3 * points.length)
    }
    const scores = Object.entries(SCALES).map(([name, members]) => [name, scoreOf(members)])
    return { values: { answers }, exact: Object.fromEntries(scores) }
  },
}

function measureNear(random: Random, kind: MeasurementKind, bounds: readonly Ratio[]): Measured {
  const score = SCORES[kind.name]
  return score
    ? score(random)
    : (kind.name === 'BodyMassIndex' ? bmiNear : quantitiesNear)(random, kind, bounds)
}

/** Thresholds as clients send them, and as bands. */
interface Chosen {
  thresholds: unknown
  bands: Pick<AlertBands, 'unit' | 'bands' | 'alertFrom'>
}

const OPERATORS = ['gt', 'gte', 'lt', 'lte'] as const

/** Thresholds in any form: a preset, limits, or bands of any unit. */
function thresholdsOf(random: Random, { thresholdTarget }: MeasurementKind): Chosen {
  const { names, unit, presets, ranges = {} } = thresholdTarget
  const published = Object.entries(presets)
  if (published.length > 0 && random.chance(0.3)) {
    const [preset, bands] = random.pick(published)
    return { thresholds: preset, bands }
  }
  const code = random.pick(codesOf(unit))
  const bound = (name: string): number => {
    const [min, max] = ranges[name] ?? [0, 100]
    const ownValue = BigInt(random.int(Math.ceil(min * 1000), max * 1000))
    return decimalNear(fromOwn([ownValue, 1000n], code), random.int(0, 3)).number
  }
  return random.chance(0.5) ? limitsOf(names, code, bound) : bandsOf(random, names, code, bound)
}

function limitsOf(names: readonly string[], unit: string, bound: (name: string) => number): Chosen {
  const ends = names.map((name) => [name, [bound(name), bound(name)].sort((a, b) => a - b)] as const)
  const beyond = (i: 0 | 1, operator: 'lt' | 'gt') =>
    Object.fromEntries(ends.map(([name, end]) => [name, { [operator]: end[i] }]))
  const bands = [
    { code: 'low', label: 'Low', severity: 1, combine: 'any' as const, ...beyond(0, 'lt') },
    { code: 'high', label: 'High', severity: 2, combine: 'any' as const, ...beyond(1, 'gt') },
  ]
  const limits = ends.flatMap(([name, [low, high]]) => [
    [`${name}Low`, low],
    [`${name}High`, high],
  ])
  return { thresholds: { unit, ...Object.fromEntries(limits) }, bands: { unit, alertFrom: 1, bands } }
}

function bandsOf(
  random: Random,
  names: readonly string[],
  unit: string,
  bound: (name: string) => number,
): Chosen {
  const bands = [0, 1, 2.5].map((severity) => ({
    code: `band-${severity}`,
    label: 'Band',
    severity,
    combine: random.pick(['any', 'all'] as const),
    ...Object.fromEntries(names.map((name) => [name, { [random.pick(OPERATORS)]: bound(name) }])),
  }))
  const set = { name: 'Own', unit, bands }
  return { thresholds: set, bands: { ...set, alertFrom: Number.MIN_VALUE } }
}

/** The bounds of the bands, in the own unit of the values. */
const boundsOf = ({ unit, bands }: Chosen['bands'], names: readonly string[]): Ratio[] =>
  bands
    .flatMap((band) => names.flatMap((name) => Object.values((band[name] as Bounds | undefined) ?? {})))
    .filter((bound) => Number.isFinite(bound) && bound >= 0)
    .map((bound) => toOwn(ratio(bound), unit))

const isWithin = (value: Ratio, bounds: Bounds, unit: string): boolean =>
  OPERATORS.every((operator) => {
    const bound = bounds[operator]
    if (bound === undefined) return true
    if (!Number.isFinite(bound)) return bound < 0 === operator.startsWith('g')
    const difference = compare(value, toOwn(ratio(bound), unit))
    return { gt: difference > 0, gte: difference >= 0, lt: difference < 0, lte: difference <= 0 }[operator]
  })

/** The code of the alert that follows; undefined: none. */
function expectedAlert({ unit, bands, alertFrom }: Chosen['bands'], { exact }: Measured): string | undefined {
  const matching = bands.filter(({ combine, ...band }) => {
    const results = Object.entries(exact).flatMap(([name, value]) => {
      const bounds = (band as Record<string, unknown>)[name] as Bounds | undefined
      return bounds && value ? [isWithin(value, bounds, unit)] : []
    })
    return combine === 'any' ? results.includes(true) : results.length > 0 && !results.includes(false)
  })
  const [worst] = matching.toSorted((a, b) => b.severity - a.severity)
  return worst && worst.severity >= alertFrom ? worst.code : undefined
}

const caller = { userId: 'nobody', roles: [], application: '', requestId: '' }

/** The code of the alert that the service derives from a new measurement. */
function derivedAlert(kind: MeasurementKind, values: Values, thresholds: unknown): string | undefined {
  const place = { id: 'm', ehrId: 'e', carePlanId: 'p', timestamp: '2026-03-01T08:30:00.000Z' }
  const after = { ...place, ...values, ...kind.rules.derived?.(values) }
  const permissions = { read: ['nobody'], write: ['nobody'] }
  const [write] =
    kind.recordDerivation?.deriveWrites(caller, { before: null, after, permissions } as never) ?? []
  const document = { json: JSON.stringify({ [kind.path]: thresholds }) } as unknown as ParseDocument
  const rules = { [PlanThresholds.collection]: document }
  const state = { document: null, rules, at: new Date(), first: { version: 1 } }
  const alert = write?.decide(state)?.writes[0]?.document
  return (alert as { data?: { band?: { code: string } } } | undefined)?.data?.band?.code
}

describe('alerts', function suite() {
  this.timeout(120_000)

  for (const kind of MEASUREMENT_KINDS.filter(({ series }) => Object.keys(series).length > 0))
    it(`follow from the exact values of ${kind.name}, by presets, limits and bands in any unit`, () => {
      const { names } = kind.thresholdTarget
      let raised = 0
      checkCases((random) => {
        const choice = thresholdsOf(random, kind)
        const measured = measureNear(random, kind, boundsOf(choice.bands, names))
        const expected = expectedAlert(choice.bands, measured)
        const message = JSON.stringify([measured.values, choice.thresholds])
        assert.equal(derivedAlert(kind, measured.values, choice.thresholds), expected, message)
        if (expected !== undefined) raised++
      })
      assert.ok(raised > CASES / 20 && raised < CASES, String(raised))
    })

  it('are derived from values that are stored rounded half up', () => {
    const [pressure] = MEASUREMENT_KINDS.filter(({ name }) => name === 'BloodPressure')
    assert.ok(pressure)
    checkCases((random) => {
      const { values, exact } = quantitiesNear(random, pressure, [])
      const { systolicMmHg, diastolicMmHg } = pressure.rules.derived?.(values) ?? {}
      const expected = [exact.systolic, exact.diastolic].map((one) => rounded(one as Ratio, 4))
      assert.deepEqual([systolicMmHg, diastolicMmHg], expected, JSON.stringify(values))
    })
  })
})
