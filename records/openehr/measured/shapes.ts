import type { MeasurementKind } from '../../measurements/measurement.ts'

/** The archetype of the compositions that measurements are. */
export const ROOT = 'openEHR-EHR-COMPOSITION.encounter.v1'

/** The archetype of a kind's observation, and the ids of its nodes. */
interface Shape {
  archetype: string
  history: string
  event: string
  tree: string
  /** The nodes of its series, in their order. */
  items: readonly string[]
}

const shape = (
  archetype: string,
  history: string,
  event: string,
  tree: string,
  ...items: string[]
): Shape => ({
  archetype: `openEHR-EHR-OBSERVATION.${archetype}`,
  ...{ history, event, tree, items },
})

/** Those of the kinds for which the international archetypes have one, by the kinds' names in paths. */
const SHAPES: Readonly<Record<string, Shape>> = {
  bloodpressure: shape('blood_pressure.v2', 'at0001', 'at0006', 'at0003', 'at0004', 'at0005'),
  bmi: shape('body_mass_index.v2', 'at0001', 'at0002', 'at0003', 'at0004'),
  bodytemperature: shape('body_temperature.v2', 'at0002', 'at0003', 'at0001', 'at0004'),
  bodyweight: shape('body_weight.v2', 'at0002', 'at0003', 'at0001', 'at0004'),
  heartrate: shape('pulse.v2', 'at0002', 'at0003', 'at0001', 'at0004'),
  oxygensaturation: shape('pulse_oximetry.v1', 'at0001', 'at0002', 'at0003', 'at0006'),
}

/** The others are observations of our own, whose series are its elements. */
export const shapeOf = ({ path, series }: MeasurementKind): Shape =>
  SHAPES[path] ??
  shape(
    `hrs_${path}.v1`,
    'at0001',
    'at0002',
    'at0003',
    ...Object.keys(series).map((_, i) => `at${String(i + 4).padStart(4, '0')}`),
  )
