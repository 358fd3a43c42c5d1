import { CLASS_NAMES, type ClassName, classKindOf, isClassName } from '../../../../records/kinds.ts'
import { isMeasurementKind } from '../../../../records/measurements/measurement.ts'
import { isFullSize } from '../../test-size.ts'

/** The properties that kinds share if they differ only in their fields. */
function shapeOf(name: ClassName): string {
  const kind = classKindOf(name)
  const quantities = isMeasurementKind(kind)
    ? Math.min(Object.keys(kind.quantities).length, 2)
    : 'no measurement'
  return JSON.stringify([
    kind.parentType,
    quantities,
    kind.maxCount?.parentField,
    Object.keys(kind.lists).sort(),
  ])
}

/** Kinds that only the service writes have tests of their own. */
const WRITTEN = CLASS_NAMES.filter((name) => !classKindOf(name).readOnly)

/** The kinds for tests over all kinds: at full size all, otherwise the first of each shape. */
export const SAMPLED_KINDS: readonly ClassName[] = WRITTEN.filter(
  (name, i) => isFullSize || !WRITTEN.slice(0, i).some((other) => shapeOf(other) === shapeOf(name)),
)

const isLeftOut = (name: ClassName): boolean => !SAMPLED_KINDS.includes(name)

/** Path segments that contain only records of kinds left out. */
const LEFT_OUT = CLASS_NAMES.filter(isLeftOut)
  .map(classKindOf)
  .flatMap((kind) => (isMeasurementKind(kind) ? [`/procedure/${kind.path}`] : []))

/** Whether an operation is about a sampled kind, or about no particular kind. */
export const isSampled = ({ kind, path }: { kind?: string | undefined; path: string }): boolean =>
  !(isClassName(kind) && isLeftOut(kind)) &&
  !LEFT_OUT.some((segment) => path.endsWith(segment) || path.includes(`${segment}/`))
