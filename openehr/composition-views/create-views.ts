import type { ClassKind } from '../../records/ehr-records/kind.ts'
import { isMeasurementKind } from '../../records/measurements/measurement.ts'
import type { CompositionView } from './composition-view.ts'
import { measurementView } from './measurements/measurement-view.ts'
import { recordView } from './record-view.ts'

/** The views of all kinds that have one. */
export const createCompositionViews = (kinds: readonly ClassKind[]): CompositionView[] =>
  kinds.flatMap((kind) => {
    if (isMeasurementKind(kind)) return measurementView(kind)
    return kind.openehr ? recordView(kind, kind.openehr) : []
  })
