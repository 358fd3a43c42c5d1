import type { DefinitionLookup } from '../ehr-records/kind.ts'
import type { ThresholdTarget } from '../measurements/calculations/thresholds.ts'
import type { MeasurementKind } from '../measurements/measurement.ts'
import type { Series } from '../measurements/series.ts'
import { documentCollection } from '../store/documents/database.ts'
import { type ResolvedType, resolveType } from '../types/type-registry.ts'
import { Measurement, thresholdTargetOf, VALUE_SERIES } from './typed-measurement.ts'

/** A source of graph lines: a kind of measurement, or a data type. */
export interface GraphSource
  extends Pick<MeasurementKind, 'path' | 'series' | 'collection' | 'thresholdTarget' | 'words'> {
  /** Filter for its records, if it shares its collection with others. */
  where?: { dataType: string }
}

/**
 * The values of a data type that thresholds can limit; undefined if there is no numeric type with this name.
 */
export async function findThresholdTarget(
  context: DefinitionLookup,
  name: string,
): Promise<ThresholdTarget | undefined> {
  const type = await resolveType(context, 'data', name)
  return type?.numeric ? thresholdTargetOf(type) : undefined
}

/**
 * The data types that a graph shows.
 * @param measures names of types, of their series, and of other measures; undefined: all types with values in
 * the plans
 */
export async function findGraphSources(
  context: DefinitionLookup,
  plans: readonly string[],
  measures: readonly string[] | undefined,
): Promise<GraphSource[]> {
  const names = measures?.map(typeOfMeasure) ?? (await findTypesInPlans(context, plans))
  const types = await Promise.all([...new Set(names)].map((name) => resolveType(context, 'data', name)))
  return types.flatMap((type) => (type?.numeric ? toGraphSource(type) : []))
}

/** The type in the name of a measure, which may also name a series. */
export const typeOfMeasure = (measure: string): string => measure.replace(`.${VALUE_SERIES}`, '')

function toGraphSource({ type, name, unit, ranges, codes }: ResolvedType): GraphSource {
  const { hard, warn } = ranges ?? {}
  const loinc = codes.find(({ system }) => system === 'http://loinc.org')?.code
  const series: Series = {
    label: name,
    field: 'amount',
    unit: thresholdTargetOf({ unit }).unit,
    // No kind of quantity has a name like this, so no other unit gets on this axis.
    axis: `${type}.${VALUE_SERIES}`,
    range: boundsOf(hard),
    usual: warn?.min === undefined && warn?.max === undefined ? undefined : boundsOf(warn),
    ...(loinc !== undefined && { code: loinc }),
  }
  return {
    path: type,
    collection: Measurement.collection,
    where: { dataType: type },
    series: { [VALUE_SERIES]: series },
    thresholdTarget: thresholdTargetOf({ unit }),
    words: { en: name.toLowerCase(), nl: name.toLowerCase() },
  }
}

const UNBOUNDED = Number.MAX_SAFE_INTEGER

const boundsOf = ({ min = -UNBOUNDED, max = UNBOUNDED }: { min?: number; max?: number } = {}) =>
  [min, max] as const

/** The types that have values; the index is skipped through from one type to the next. */
async function findTypesInPlans(context: DefinitionLookup, plans: readonly string[]): Promise<string[]> {
  const typesByPlan = await Promise.all(plans.map((plan) => findTypesOfPlan(context, plan)))
  return typesByPlan.flat()
}

async function findTypesOfPlan(context: DefinitionLookup, carePlanId: string): Promise<string[]> {
  const measurements = documentCollection(context, Measurement.collection)
  const types: string[] = []
  for (;;) {
    const next = await measurements.findOne(
      { carePlanId, ...(types.length > 0 && { dataType: { $gt: types.at(-1) } }) },
      { sort: { dataType: 1 }, projection: { _id: 0, dataType: 1 } },
    )
    if (!next) return types
    types.push(String(next.dataType))
  }
}
