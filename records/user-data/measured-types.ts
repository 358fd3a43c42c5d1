import type { Thresholded } from '../measurements/calculations/thresholds.ts'
import type { MeasurementKind } from '../measurements/measurement.ts'
import type { Series } from '../measurements/series.ts'
import type { Definitions } from '../registered/kind.ts'
import { documentsOf } from '../store/documents/database.ts'
import { type KnownType, knownType } from '../types/known-types.ts'
import { Measurement, SERIES, thresholdedOf } from './typed-measurement.ts'

/** What a graph shows lines of: a kind of measurement, or a data type. */
export interface Plotted
  extends Pick<MeasurementKind, 'path' | 'series' | 'collection' | 'thresholded' | 'words'> {
  /** What is true of its records alone, of those in its collection. */
  where?: { dataType: string }
}

/** What thresholds of a data type can be; undefined: there is no such type of numbers. */
export async function thresholdedType(records: Definitions, name: string): Promise<Thresholded | undefined> {
  const type = await knownType(records, 'data', name)
  return type?.numeric ? thresholdedOf(type) : undefined
}

/**
 * The data types that a graph shows.
 * @param measures names of types or of their series, and others; undefined: those of which the plans have values
 */
export async function measuredTypes(
  records: Definitions,
  plans: readonly string[],
  measures: readonly string[] | undefined,
): Promise<Plotted[]> {
  const names = measures?.map(typeIn) ?? (await typesIn(records, plans))
  const types = await Promise.all([...new Set(names)].map((name) => knownType(records, 'data', name)))
  return types.flatMap((type) => (type?.numeric ? plotted(type) : []))
}

/** The type that a measure names, alone or with its series. */
export const typeIn = (measure: string): string => measure.replace(`.${SERIES}`, '')

function plotted({ type, name, unit, ranges, codes }: KnownType): Plotted {
  const { hard, warn } = ranges ?? {}
  const loinc = codes.find(({ system }) => system === 'http://loinc.org')?.code
  const series: Series = {
    ...{ label: name, field: 'amount', unit: thresholdedOf({ unit }).unit, axis: type },
    range: ends(hard),
    usual: warn?.min === undefined && warn?.max === undefined ? undefined : ends(warn),
    ...(loinc !== undefined && { code: loinc }),
  }
  return {
    ...{ path: type, collection: Measurement.collection, where: { dataType: type } },
    series: { [SERIES]: series },
    thresholded: thresholdedOf({ unit }),
    words: { en: name.toLowerCase(), nl: name.toLowerCase() },
  }
}

const FARTHEST = Number.MAX_SAFE_INTEGER

const ends = ({ min = -FARTHEST, max = FARTHEST }: { min?: number; max?: number } = {}) => [min, max] as const

/** The types of which there are values, by a leap from each to the next in the index. */
async function typesIn(records: Definitions, plans: readonly string[]): Promise<string[]> {
  const found = await Promise.all(plans.map((plan) => typesOfPlan(records, plan)))
  return found.flat()
}

async function typesOfPlan(records: Definitions, carePlanId: string): Promise<string[]> {
  const all = documentsOf(records, Measurement.collection)
  const types: string[] = []
  for (;;) {
    const next = await all.findOne(
      { carePlanId, ...(types.length > 0 && { dataType: { $gt: types.at(-1) } }) },
      { sort: { dataType: 1 }, projection: { _id: 0, dataType: 1 } },
    )
    if (!next) return types
    types.push(String(next.dataType))
  }
}
