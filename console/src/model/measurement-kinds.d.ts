declare module 'virtual:measurement-kinds' {
  export interface QuantityUnit {
    /** UCUM code, or another usual name. */
    code: string
    /** A value outside is refused. */
    hard: [min: number, max: number]
    /** A value outside is unusual. */
    warn?: [min: number, max: number]
  }
  export interface MeasuredQuantity {
    name: string
    /** The usual one first. */
    units: QuantityUnit[]
  }
  export interface MeasurementKind {
    /** Its name in URLs: `bloodpressure`. */
    path: string
    quantities: MeasuredQuantity[]
    /** The values for which a care plan can have thresholds, and the presets by name. */
    thresholds: { names: string[]; unit: string; presets: string[] }
  }
  const kinds: readonly MeasurementKind[]
  export default kinds
}
