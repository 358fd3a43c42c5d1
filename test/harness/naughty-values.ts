import { bySize } from './test-size.ts'

/** Values that hardly any field accepts. */
export const naughtyValues: unknown[] = [
  null,
  true,
  0,
  -1,
  1e308,
  0.1,
  '',
  ' ',
  'x'.repeat(100_000),
  '\u0000',
  '\ud800',
  '\u202e\u{1F600}',
  '$where',
  '../../etc/passwd',
  '9999-12-31',
  '0000-01-01',
  '-000001-01-01',
  '2016-12-31T23:59:60Z',
  [],
  {},
  [[]],
  { $gt: '' },
  { __proto__: null, constructor: { prototype: 1 } },
  { 'a.b': 1 },
]

/**
 * The example with each property, nested ones included, replaced by each naughty value; at the usual size by
 * every eighth.
 */
export function* withNaughtyValues(example: Record<string, unknown>): Generator<Record<string, unknown>> {
  let i = 0
  for (const one of withEachNaughtyValue(example)) if (i++ % bySize(8, 1) === 0) yield one
}

function* withEachNaughtyValue(example: Record<string, unknown>): Generator<Record<string, unknown>> {
  for (const [name, value] of Object.entries(example)) {
    for (const bad of naughtyValues) yield { ...example, [name]: bad }
    if (typeof value !== 'object' || value === null) continue
    for (const member of withEachNaughtyValue(value as Record<string, unknown>))
      yield { ...example, [name]: member }
  }
}

/** Cursors of a list that the service never issued. */
export const createForgedCursors = (list: string): string[] =>
  [[list, 'd', 1e20, 'x'], [list, 'd', 'x', 'x'], [list, 'v', {}, 'x'], [list, 'v', 1e308, 'x'], []].map(
    (parts) => Buffer.from(JSON.stringify(parts)).toString('base64url'),
  )

/** Random letters a and b, the same for each seed: few states of an expression repeat on them. */
export function createRandomText(seed: number, length: number): string {
  let value = seed
  const letters = Array.from({ length }, () => {
    value = (value * 48_271) % 2_147_483_647
    return 'ab'[value & 1]
  })
  return letters.join('')
}
