import { Decimal } from './decimal.ts'
import { type FhirJson, isElement, memberOf } from './element-paths.ts'

/** Texts for people beside what programs read. */
const PARAPHRASES = ['display', 'unit']

const NOTHING: readonly string[] = Object.freeze([])

/** Compares dates by their moment, and decimals by their digits. */
function isSameValue(input: unknown, output: unknown): boolean {
  if (input instanceof Decimal) return output instanceof Decimal && input.text === output.text
  if (typeof input !== 'string' || typeof output !== 'string') return false
  return input.includes('T') && output.includes('T') && Date.parse(input) === Date.parse(output)
}

interface Comparison {
  /** Equivalent values by path without positions. */
  accepted: Readonly<Record<string, readonly unknown[]>>
}

/**
 * A text beside codes says in words what they mean, and a user is the same by reference and by identifier. Alone, these
 * would be all that an element says.
 */
function isParaphrase(name: string, input: FhirJson, output: FhirJson): boolean {
  if (name === 'reference') return output.type === 'Practitioner' && output.identifier !== undefined
  if (name === 'unit' && input.code === undefined) return false
  return name === 'text'
    ? Array.isArray(input.coding) && Array.isArray(output.coding)
    : PARAPHRASES.includes(name) && Object.keys(input).some((other) => !PARAPHRASES.includes(other))
}

/**
 * The paths of everything in an element of the input that the output does not contain, so that it would be lost.
 * @param path the path of the element, for the results
 */
export function unkeptPaths(
  input: unknown,
  output: unknown,
  path: string,
  comparison: Comparison,
): readonly string[] {
  if (input === output) return NOTHING
  if (Array.isArray(input)) return unkeptItems(input, Array.isArray(output) ? output : [], path, comparison)
  if (isElement(input)) {
    if (!isElement(output)) return [path]
    let lostPaths: string[] | undefined
    for (const name of Object.keys(input)) {
      const value = input[name]
      const own = memberOf(output, name)
      // Most are the same, so that nobody needs the path.
      if (value === own || isParaphrase(name, input, output)) continue
      lostPaths = addPaths(lostPaths, unkeptPaths(value, own, `${path}.${name}`, comparison))
    }
    return lostPaths ?? NOTHING
  }
  const [, ...names] = path.replace(/\[\d+\]/g, '').split('.')
  const acceptedValues = memberOf(comparison.accepted, names.join('.'))
  return (Array.isArray(acceptedValues) && acceptedValues.includes(input)) || isSameValue(input, output)
    ? NOTHING
    : [path]
}

/** Nearly all elements lose nothing, and need no list. A list that is there grows, since thousands of items may be lost. */
function addPaths(lostPaths: string[] | undefined, more: readonly string[]): string[] | undefined {
  if (more.length === 0) return lostPaths
  if (lostPaths === undefined) return [...more]
  for (const path of more) lostPaths.push(path)
  return lostPaths
}

/** Each item of the input needs one of the output that contains it; otherwise the most similar one tells what is lost. */
function unkeptItems(
  input: readonly unknown[],
  output: readonly unknown[],
  path: string,
  comparison: Comparison,
): readonly string[] {
  let lostPaths: string[] | undefined
  for (const [position, item] of input.entries()) {
    const place = `${path}[${position}]`
    let least: readonly string[] | undefined
    for (const one of output) {
      const unkept = unkeptPaths(item, one, place, comparison)
      if (least === undefined || unkept.length < least.length) least = unkept
      if (unkept.length === 0) break
    }
    const isForeign = least === undefined || least.length >= leafCount(item)
    lostPaths = addPaths(lostPaths, isForeign ? [place] : (least as readonly string[]))
  }
  return lostPaths ?? NOTHING
}

const leafCount = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? Object.values(value).reduce((sum: number, one) => sum + leafCount(one), 0)
    : 1
