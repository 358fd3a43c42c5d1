import type { Random } from '../generator/world/random.ts'

type Holder = Record<string, unknown>
type Place = readonly [holder: Holder, name: string]

const VALUES: readonly unknown[] = [
  ...[
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
  ],
  ...['DV_TEXT', 'ELEMENT', 'EHR_STATUS', 'DV_INTERVAL<DV_QUANTITY>', '__proto__', 'x'.repeat(5000)],
]

/** A composition that differs from a valid one in one place or two. */
export function nearComposition(valid: object, random: Random): object {
  const composition = structuredClone(valid)
  for (let edits = random.int(1, 2); edits > 0; edits--) {
    const places = placesIn(composition as Holder)
    edit(random.pick(places), places, random)
  }
  // What is deleted from an array leaves a gap, which JSON has not.
  return JSON.parse(JSON.stringify(composition))
}

function placesIn(holder: Holder): Place[] {
  return Object.entries(holder).flatMap(([name, value]): Place[] => [
    [holder, name],
    ...(typeof value === 'object' && value !== null ? placesIn(value as Holder) : []),
  ])
}

function edit([holder, name]: Place, places: readonly Place[], random: Random): void {
  const value = holder[name]
  const elsewhere = random.pick(places)
  random.weighted<() => unknown>([
    [3, () => (holder[name] = nearValue(value, random))],
    [2, () => delete holder[name]],
    [2, () => (holder[name] = structuredClone(elsewhere[0][elsewhere[1]]))],
    [1, () => (holder[name] = random.pick(VALUES))],
    [1, () => Array.isArray(value) && value.push(...structuredClone(value))],
    [1, () => Array.isArray(value) && value.reverse()],
    [
      1,
      () =>
        (holder[random.pick(['links', 'uid', 'items', 'value', 'feeder_audit', 'x'])] =
          structuredClone(value)),
    ],
  ])()
}

/** Of the same type. */
function nearValue(value: unknown, random: Random): unknown {
  if (typeof value === 'number') return random.pick([value + 1, -value, value / 3, value * 1e6])
  if (typeof value === 'boolean') return !value
  if (typeof value !== 'string') return value
  const at = random.int(0, value.length)
  return random.pick([
    value.slice(0, at),
    value + value,
    `${value.slice(0, at)}0${value.slice(at)}`,
    value.toUpperCase(),
  ])
}
