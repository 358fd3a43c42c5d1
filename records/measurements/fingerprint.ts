import { createHash } from 'node:crypto'
import type { Values } from '../ehr-records/kind.ts'
import type { Quantity } from './quantities/quantity.ts'

/** Differences in parent, comment or spelling of the time do not make it another measurement. */
const IGNORED_FIELDS = ['ehrId', 'carePlanId', 'comment', 'timestamp', 'utcOffset']

/**
 * Recognises a measurement that is sent again: a hash of device, time and values, whatever the spelling of
 * the units. A correction keeps the fingerprint, so a device that sends everything again does not restore the
 * wrong value.
 */
export function fingerprintOf(
  quantities: Readonly<Record<string, Quantity>>,
  values: Values,
  inOwnUnits: Readonly<Record<string, number>>,
): string {
  const left = new Set([
    ...IGNORED_FIELDS,
    ...Object.keys(quantities).flatMap((name) => [name, `${name}Unit`]),
  ])
  const otherValues = Object.entries(values).filter(([name, value]) => !left.has(name) && value !== undefined)
  const sortedValues = [...otherValues, ...Object.entries(inOwnUnits)].sort(([a], [b]) => (a < b ? -1 : 1))
  const text = JSON.stringify([Date.parse(String(values.timestamp)), sortedValues])
  return createHash('sha256').update(text).digest('base64url').slice(0, 20)
}
