import type { Random } from '../generator/context/random.ts'

type ParentObject = Record<string, unknown>
type PropertyPlace = readonly [object: ParentObject, name: string]

const VALUES: readonly unknown[] = [
  null,
  '',
  0,
  -1,
  1e308,
  true,
  [],
  {},
  'at0004',
  'openEHR-EHR-OBSERVATION.x.v1',
  '2026-02-30',
  'P1Y',
  '\0',
  '😀',
  'DV_TEXT',
  'ELEMENT',
  'EHR_STATUS',
  'DV_INTERVAL<DV_QUANTITY>',
  '__proto__',
  'x'.repeat(5000),
]

/** A composition that differs from a valid one in one or two places. */
export function mutateComposition(valid: object, random: Random): object {
  const composition = structuredClone(valid)
  for (let edits = random.int(1, 2); edits > 0; edits--) {
    const places = findPlaces(composition as ParentObject)
    editPlace(random.pick(places), places, random)
  }
  // A deleted array element leaves a hole, which JSON does not have.
  return JSON.parse(JSON.stringify(composition))
}

function findPlaces(object: ParentObject): PropertyPlace[] {
  return Object.entries(object).flatMap(([name, value]): PropertyPlace[] => [
    [object, name],
    ...(typeof value === 'object' && value !== null ? findPlaces(value as ParentObject) : []),
  ])
}

function editPlace([object, name]: PropertyPlace, places: readonly PropertyPlace[], random: Random): void {
  const value = object[name]
  const elsewhere = random.pick(places)
  random.weighted<() => unknown>([
    [3, () => (object[name] = mutateLeaf(value, random))],
    [2, () => delete object[name]],
    [2, () => (object[name] = structuredClone(elsewhere[0][elsewhere[1]]))],
    [1, () => (object[name] = random.pick(VALUES))],
    [1, () => Array.isArray(value) && value.push(...structuredClone(value))],
    [1, () => Array.isArray(value) && value.reverse()],
    [
      1,
      () =>
        (object[random.pick(['links', 'uid', 'items', 'value', 'feeder_audit', 'x'])] =
          structuredClone(value)),
    ],
  ])()
}

/** Another value of the same type. */
function mutateLeaf(value: unknown, random: Random): unknown {
  if (typeof value === 'number') return random.pick([value + 1, -value, value / 3, value * 1e6])
  if (typeof value === 'boolean') return !value
  if (typeof value !== 'string') return value
  const position = random.int(0, value.length)
  return random.pick([
    value.slice(0, position),
    value + value,
    `${value.slice(0, position)}0${value.slice(position)}`,
    value.toUpperCase(),
  ])
}
