import type { MeasurementKind } from '../../../records/measurements/measurement.ts'

/** The archetype of a kind's observation, and the ids of its nodes. */
interface ObservationArchetype {
  archetype: string
  history: string
  event: string
  tree: string
  /** The nodes of its series, in the order of the series. */
  items: readonly string[]
}

const observationArchetype = (
  archetype: string,
  history: string,
  event: string,
  tree: string,
  ...items: string[]
): ObservationArchetype => ({
  archetype: `openEHR-EHR-OBSERVATION.${archetype}`,
  history,
  event,
  tree,
  items,
})

/** The kinds with an international archetype, by the kind's name in paths. */
const INTERNATIONAL_ARCHETYPES: Readonly<Record<string, ObservationArchetype>> = {
  bloodpressure: observationArchetype('blood_pressure.v2', 'at0001', 'at0006', 'at0003', 'at0004', 'at0005'),
  bmi: observationArchetype('body_mass_index.v2', 'at0001', 'at0002', 'at0003', 'at0004'),
  bodytemperature: observationArchetype('body_temperature.v2', 'at0002', 'at0003', 'at0001', 'at0004'),
  bodyweight: observationArchetype('body_weight.v2', 'at0002', 'at0003', 'at0001', 'at0004'),
  heartrate: observationArchetype('pulse.v2', 'at0002', 'at0003', 'at0001', 'at0004'),
  oxygensaturation: observationArchetype('pulse_oximetry.v1', 'at0001', 'at0002', 'at0003', 'at0006'),
}

/** The archetype of a kind. Without an international one it is our own, with one element for each series. */
export const observationArchetypeOf = ({ path, series }: MeasurementKind): ObservationArchetype =>
  INTERNATIONAL_ARCHETYPES[path] ??
  observationArchetype(
    `hrs_${path}.v1`,
    'at0001',
    'at0002',
    'at0003',
    ...Object.keys(series).map((_, i) => `at${String(i + 4).padStart(4, '0')}`),
  )
