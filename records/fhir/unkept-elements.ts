import { Decimal } from './decimal.ts'
import { type FhirJson, isElement, memberOf } from './element-paths.ts'

/** Texts for people beside what programs read. */
const PARAPHRASES = ['display', 'unit']

const NOTHING: readonly string[] = Object.freeze([])

/** Compares dates by their moment, and decimals by their digits. */
function isSameValue(sent: unknown, shown: unknown): boolean {
  if (sent instanceof Decimal) return shown instanceof Decimal && sent.text === shown.text
  if (typeof sent !== 'string' || typeof shown !== 'string') return false
  return sent.includes('T') && shown.includes('T') && Date.parse(sent) === Date.parse(shown)
}

interface Comparison {
  /** Equivalent values by path without positions. */
  accepted: Readonly<Record<string, readonly unknown[]>>
}

/**
 * A text beside codes says in words what they mean, and a user is the same by reference and by identifier. Alone, these
 * would be all that an element says.
 */
function isParaphrase(name: string, sent: FhirJson, shown: FhirJson): boolean {
  if (name === 'reference') return shown.type === 'Practitioner'
  return name === 'text'
    ? Array.isArray(sent.coding) && Array.isArray(shown.coding)
    : PARAPHRASES.includes(name) && Object.keys(sent).some((other) => !PARAPHRASES.includes(other))
}

/**
 * The paths of everything in a sent element that the shown one does not contain, so that it would be lost.
 * @param path the path of the element, for the results
 */
export function unkeptPaths(
  sent: unknown,
  shown: unknown,
  path: string,
  comparison: Comparison,
): readonly string[] {
  if (sent === shown) return NOTHING
  if (Array.isArray(sent)) return unkeptItems(sent, Array.isArray(shown) ? shown : [], path, comparison)
  if (isElement(sent)) {
    if (!isElement(shown)) return [path]
    let lost: string[] | undefined
    for (const name of Object.keys(sent)) {
      const value = sent[name]
      const own = memberOf(shown, name)
      // Most are the same, so that nobody needs the path.
      if (value === own || isParaphrase(name, sent, shown)) continue
      lost = addPaths(lost, unkeptPaths(value, own, `${path}.${name}`, comparison))
    }
    return lost ?? NOTHING
  }
  const [, ...names] = path.replace(/\[\d+\]/g, '').split('.')
  const accepted = memberOf(comparison.accepted, names.join('.'))
  return (Array.isArray(accepted) && accepted.includes(sent)) || isSameValue(sent, shown) ? NOTHING : [path]
}

/** Nearly all elements lose nothing, and need no list. A list that is there grows, since thousands of items may be lost. */
function addPaths(lost: string[] | undefined, more: readonly string[]): string[] | undefined {
  if (more.length === 0) return lost
  if (lost === undefined) return [...more]
  for (const path of more) lost.push(path)
  return lost
}

/** Each sent item needs a shown one that contains it; otherwise the most similar one tells what is lost. */
function unkeptItems(
  sent: readonly unknown[],
  shown: readonly unknown[],
  path: string,
  comparison: Comparison,
): readonly string[] {
  let lost: string[] | undefined
  for (const [position, item] of sent.entries()) {
    const place = `${path}[${position}]`
    let least: readonly string[] | undefined
    for (const one of shown) {
      const unkept = unkeptPaths(item, one, place, comparison)
      if (least === undefined || unkept.length < least.length) least = unkept
      if (unkept.length === 0) break
    }
    const isForeign = least === undefined || least.length >= leafCount(item)
    lost = addPaths(lost, isForeign ? [place] : (least as readonly string[]))
  }
  return lost ?? NOTHING
}

const leafCount = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? Object.values(value).reduce((sum: number, one) => sum + leafCount(one), 0)
    : 1
