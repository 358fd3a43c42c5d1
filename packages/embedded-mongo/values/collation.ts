/** Language-aware equality and order, as far as Intl and case folding go. */
import type { Document } from 'bson'
import type { Collation } from './compare.ts'
import { fail } from './errors.ts'
import { integer, isNullish } from './values.ts'

const folds: Record<number, (text: string) => string> = {
  1: (text) => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase(),
  2: (text) => text.normalize('NFC').toLowerCase(),
  3: (text) => text.normalize('NFC'),
}

const sensitivity = { 1: 'base', 2: 'accent', 3: 'variant' } as const

const unsupported = { caseLevel: true, numericOrdering: true, alternate: 'shifted', backwards: true }

const cache = new Map<string, Collation>()

/** undefined: binary comparison. Two equal specifications give the same object. */
export const collationOf = (spec: unknown): Collation | undefined => {
  if (isNullish(spec)) return undefined
  const { locale, ...options } = spec as Document
  if (typeof locale !== 'string')
    return fail(40414, "BSON field 'collation.locale' is missing but a required field")
  if (locale === 'simple') return undefined
  for (const [name, value] of Object.entries(unsupported))
    if (options[name] === value)
      fail(115, `collation option ${name}: ${value} is not supported by this engine`)
  const strength = Math.min(integer(options.strength, 'collation.strength', 3, 1), 3) as 1 | 2 | 3
  const name = `${locale}/${strength}`
  const known = cache.get(name)
  if (known) return known
  const collation = build(locale, strength)
  cache.set(name, collation)
  return collation
}

const build = (locale: string, strength: 1 | 2 | 3): Collation => {
  const fold = folds[strength] as (text: string) => string
  const order = collator(locale, sensitivity[strength]).compare
  // Equality is that of the folded text, which is also the index key; the order of unequal texts is Intl's.
  return {
    fold,
    compare: (a, b) => {
      const [x, y] = [fold(a), fold(b)]
      return x === y ? 0 : order(a, b) || (x < y ? -1 : 1)
    },
  }
}

const collator = (locale: string, sensitivity: 'base' | 'accent' | 'variant'): Intl.Collator => {
  try {
    const name = locale.replaceAll('_', '-')
    if (Intl.Collator.supportedLocalesOf(name).length === 0) throw new RangeError(name)
    return new Intl.Collator(name, { sensitivity })
  } catch {
    return fail(2, `Field 'locale' is invalid in: { locale: "${locale}" }`)
  }
}
