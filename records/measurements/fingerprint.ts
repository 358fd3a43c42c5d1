import { createHash } from 'node:crypto'
import type { Values } from '../registered/kind.ts'
import { ownUnits, type Quantity } from './quantities/quantity.ts'

/** Where it is registered, and what was remarked on it, make no other measurement of it. */
const BESIDE = ['ehrId', 'carePlanId', 'comment', 'timestamp']

/**
 * What tells a measurement that is sent again: device, time and values, whatever the spelling of their units. It stays
 * when the record is corrected, so that a device which sends everything again does not bring back what was wrong.
 */
export function fingerprintOf(quantities: Readonly<Record<string, Quantity>>, values: Values): string {
  const left = new Set([...BESIDE, ...Object.keys(quantities).flatMap((name) => [name, `${name}Unit`])])
  const others = Object.entries(values).filter(([name, value]) => !left.has(name) && value !== undefined)
  const all = [...others, ...Object.entries(ownUnits(quantities, values))].sort(([a], [b]) =>
    a < b ? -1 : 1,
  )
  const text = JSON.stringify([Date.parse(String(values.timestamp)), all])
  return createHash('sha256').update(text).digest('base64url').slice(0, 20)
}
