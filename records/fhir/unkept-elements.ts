import { Decimal } from './decimal.ts'
import { type FhirJson, isElement, memberOf } from './element-paths.ts'

/** Texts for people beside what programs read. */
const PARAPHRASES = ['display', 'unit']

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
export function unkeptPaths(sent: unknown, shown: unknown, path: string, comparison: Comparison): string[] {
  if (sent === shown) return []
  if (Array.isArray(sent)) return unkeptItems(sent, Array.isArray(shown) ? shown : [], path, comparison)
  if (isElement(sent)) {
    if (!isElement(shown)) return [path]
    const lost: string[] = []
    for (const name of Object.keys(sent)) {
      const [value, own] = [sent[name], memberOf(shown, name)]
      // Most are the same, so that nobody needs the path.
      if (value === own || isParaphrase(name, sent, shown)) continue
      lost.push(...unkeptPaths(value, own, `${path}.${name}`, comparison))
    }
    return lost
  }
  const [, ...names] = path.replace(/\[\d+\]/g, '').split('.')
  const accepted = memberOf(comparison.accepted, names.join('.'))
  return (Array.isArray(accepted) && accepted.includes(sent)) || isSameValue(sent, shown) ? [] : [path]
}

/** Each sent item needs a shown one that contains it; otherwise the most similar one tells what is lost. */
const unkeptItems = (
  sent: readonly unknown[],
  shown: readonly unknown[],
  path: string,
  comparison: Comparison,
): string[] =>
  sent.flatMap((item, position) => {
    const place = `${path}[${position}]`
    let least: string[] | undefined
    for (const one of shown) {
      const lost = unkeptPaths(item, one, place, comparison)
      if (least === undefined || lost.length < least.length) least = lost
      if (lost.length === 0) break
    }
    return least === undefined || least.length >= leafCount(item) ? [place] : least
  })

const leafCount = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? Object.values(value).reduce((sum: number, one) => sum + leafCount(one), 0)
    : 1
