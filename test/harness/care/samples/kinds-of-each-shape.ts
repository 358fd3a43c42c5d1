import { CLASS_NAMES, type ClassName, classKind, isClassName } from '../../../../records/kinds.ts'
import { isMeasurement } from '../../../../records/measurements/measurement.ts'
import { isFullSize } from '../../size.ts'

/** What kinds have alike that differ in their fields only. */
function shapeOf(name: ClassName): string {
  const kind = classKind(name)
  const quantities = isMeasurement(kind) ? Math.min(Object.keys(kind.quantities).length, 2) : 'no measurement'
  return JSON.stringify([kind.registeredIn, quantities, kind.most?.of, Object.keys(kind.lists).sort()])
}

/** What only the service writes has tests of its own. */
const WRITTEN = CLASS_NAMES.filter((name) => !classKind(name).readOnly)

/** The kinds that tests over all of them go through: each at full size, else the first one of each shape. */
export const SAMPLED_KINDS: readonly ClassName[] = WRITTEN.filter(
  (name, i) => isFullSize || !WRITTEN.slice(0, i).some((other) => shapeOf(other) === shapeOf(name)),
)

const isLeftOut = (name: ClassName): boolean => !SAMPLED_KINDS.includes(name)

/** The segments of paths below which there are only records of a kind that is left out. */
const LEFT_OUT = CLASS_NAMES.filter(isLeftOut)
  .map(classKind)
  .flatMap((kind) => (isMeasurement(kind) ? [`/procedure/${kind.path}`] : []))

/** Whether an operation is about one of them, or about no kind in particular. */
export const isSampled = ({ kind, path }: { kind?: string | undefined; path: string }): boolean =>
  !(isClassName(kind) && isLeftOut(kind)) &&
  !LEFT_OUT.some((segment) => path.endsWith(segment) || path.includes(`${segment}/`))
