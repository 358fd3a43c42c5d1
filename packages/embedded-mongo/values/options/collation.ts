/** Language-aware equality and order, as far as Intl and case folding allow. */
import { type Document, Int32 } from 'bson'
import { isNullish, toNumber } from '../bson-values.ts'
import type { Collation } from '../compare.ts'
import { fail } from '../errors.ts'
import { boolean, type Check, checkEach, checkKnown, number, oneOf, text } from './option-types.ts'

/** Ignored at all strengths below the highest: control characters and characters without width. */
const ignoredCharacters = /(?![\t-\r\u0085])[\p{Cc}\p{Default_Ignorable_Code_Point}]/gu

const withoutIgnoredCharacters = (text: string): string =>
  /[^ -~]/.test(text) ? text.replace(ignoredCharacters, '') : text

type Strength = 1 | 2 | 3 | 5

const FOLD_BY_STRENGTH: Record<Strength, (text: string) => string> = {
  1: (text) =>
    withoutIgnoredCharacters(text)
      .normalize('NFKD')
      .replace(/\p{M}/gu, '')
      .toLowerCase()
      .replaceAll('ß', 'ss'),
  2: (text) => withoutIgnoredCharacters(text).normalize('NFC').toLowerCase(),
  3: (text) => withoutIgnoredCharacters(text).normalize('NFC'),
  5: (text) => text.normalize('NFC'),
}

const sensitivity = { 1: 'base', 2: 'accent', 3: 'variant', 5: 'variant' } as const

const unsupportedOptions = { caseLevel: true, numericOrdering: true, alternate: 'shifted', backwards: true }

const types: Readonly<Record<string, Check>> = {
  locale: text,
  strength: number,
  version: text,
  caseFirst: oneOf('off', 'upper', 'lower'),
  alternate: oneOf('non-ignorable', 'shifted'),
  maxVariable: oneOf('punct', 'space'),
  caseLevel: boolean,
  numericOrdering: boolean,
  normalization: boolean,
  backwards: boolean,
}

/** The version of the collations that MongoDB writes into completed specifications. */
const VERSION = '57.1'

const checkOptions = (spec: Document): void => {
  checkKnown(spec, 'collation', Object.keys(types))
  checkEach(spec, 'collation', types)
  if (spec.backwards === null) boolean(null, 'collation.backwards')
  if (!isNullish(spec.version) && spec.version !== VERSION)
    fail(161, `Requested collation version ${spec.version} but the only available version is ${VERSION}`)
}

const cache = new Map<string, Collation>()

/** Languages with letters or ignored characters of their own. */
const TAILORED_LANGUAGES =
  /^(az|cs|da|et|fi|hr|hu|is|ja|ko|lt|lv|nb|nn|no|pl|ro|sk|sl|sv|th|tr|uk|vi|zh|fr_CA|en_US_POSIX)(?![a-z])/

/**
 * undefined: binary comparison. Two equal specifications return the same object.
 * @throws 2, 14, 115, 161, 40414, 40415
 */
export const collationOf = (spec: unknown): Collation | undefined => {
  if (isNullish(spec)) return undefined
  const { locale, ...options } = spec as Document
  if (isNullish(locale)) fail(40414, "BSON field 'collation.locale' is missing but a required field")
  checkOptions(spec as Document)
  if (locale === 'simple') return undefined
  for (const [name, value] of Object.entries(unsupportedOptions))
    if (options[name] === value)
      fail(115, `collation option ${name}: ${value} is not supported by this engine`)
  const requestedStrength = isNullish(options.strength) ? 3 : options.strength
  if (!(toNumber(requestedStrength) >= 1 && toNumber(requestedStrength) <= 5))
    fail(2, 'collation.strength must be between 1 and 5')
  const level = Math.trunc(toNumber(requestedStrength))
  const strength = (level === 4 ? 3 : level) as Strength
  const first = options.caseFirst ?? 'off'
  if (strength < 3 && first !== 'off') fail(2, 'collation.caseFirst needs a strength of 3 or more')
  const name = `${locale}/${strength}/${first}`
  const cachedCollation = cache.get(name)
  if (cachedCollation) return cachedCollation
  const collation = buildCollation(locale, strength, first)
  if (TAILORED_LANGUAGES.test(locale) && (strength < 3 || locale.startsWith('ja')))
    fail(115, `collations of ${locale} with strength ${strength} are not supported by this engine`)
  cache.set(name, collation)
  return collation
}

/** A specification with all defaults filled in, as listCollections and listIndexes show it. */
export const completeCollation = (spec: Document): Document =>
  spec.locale === 'simple'
    ? spec
    : {
        locale: spec.locale,
        caseLevel: false,
        caseFirst: 'off',
        strength: new Int32(3),
        numericOrdering: false,
        alternate: 'non-ignorable',
        maxVariable: 'punct',
        normalization: false,
        backwards: false,
        ...spec,
        version: VERSION,
      }

const buildCollation = (locale: string, strength: Strength, first: string): Collation => {
  const fold = FOLD_BY_STRENGTH[strength]
  const order = collator(locale, sensitivity[strength], first).compare
  // The folded text decides equality and is also the index key. Intl decides the order of unequal texts.
  return {
    fold,
    compare: (a, b) => {
      const x = fold(a)
      const y = fold(b)
      return x === y ? 0 : order(a, b) || (x < y ? -1 : 1)
    },
  }
}

const collator = (
  locale: string,
  sensitivity: 'base' | 'accent' | 'variant',
  first: string,
): Intl.Collator => {
  try {
    const name = locale.replaceAll('_', '-')
    if (Intl.Collator.supportedLocalesOf(name).length === 0) throw new RangeError(name)
    const caseFirst = (first === 'off' ? 'false' : first) as 'upper' | 'lower' | 'false'
    return new Intl.Collator(name, { sensitivity, caseFirst })
  } catch {
    return fail(2, `Field 'locale' is invalid in: { locale: "${locale}" }`)
  }
}
