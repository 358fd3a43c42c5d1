import { XML_ZONE } from '../../schemas/time/iso-time.ts'
import { Decimal } from './decimal.ts'
import { type FhirJson, isElement, memberOf } from './element-paths.ts'

/** Texts for people, next to the codes that programs read. */
const PARAPHRASES = ['display', 'unit']

const NOTHING: readonly string[] = Object.freeze([])

/** A time that FHIR allows, without digits beyond the milliseconds: those would be lost. */
const KEPT_TIME = new RegExp(`T(?:[01]\\d|2[0-3]):\\d\\d:\\d\\d(?:\\.\\d{1,3}0*)?${XML_ZONE.source}$`)

/** Compares dates by their moment, and decimals by their digits. */
function isSameValue(input: unknown, output: unknown): boolean {
  if (input instanceof Decimal) return output instanceof Decimal && input.text === output.text
  if (typeof input !== 'string' || typeof output !== 'string') return false
  return KEPT_TIME.test(input) && output.includes('T') && Date.parse(input) === Date.parse(output)
}

/**
 * Comparisons of values for an element with all that it contains. When they are used up, items are compared with those
 * at their positions alone.
 */
const MAX_COMPARISONS = 200_000

/** Equivalent values by path without positions. */
type AcceptedValues = Readonly<Record<string, readonly unknown[]>>

interface Comparison {
  accepted: AcceptedValues
  comparisonsLeft: number
}

/**
 * Whether a member of the input repeats in words or by reference what others say, so that the output may lack it:
 * - a text next to codes, or next to the link id of a question;
 * - a display name or a unit next to its code;
 * - the reference to a user, whom the output names by identifier.
 * Alone, each of these would be all that an element says.
 */
function isParaphrase(name: string, input: FhirJson, output: FhirJson): boolean {
  if (name === 'reference') return output.type === 'Practitioner' && output.identifier !== undefined
  if (name === 'unit' && input.code === undefined) return false
  return name === 'text'
    ? (Array.isArray(input.coding) && Array.isArray(output.coding)) ||
        (input.linkId !== undefined && input.linkId === output.linkId)
    : PARAPHRASES.includes(name) && Object.keys(input).some((other) => !PARAPHRASES.includes(other))
}

/**
 * The paths of everything in an element of the input that the output does not contain, so that it would be lost.
 * @param path the path of the element, for the results
 */
export const droppedPaths = (
  input: unknown,
  output: unknown,
  path: string,
  { accepted }: { accepted: AcceptedValues },
): readonly string[] => comparePaths(input, output, path, { accepted, comparisonsLeft: MAX_COMPARISONS })

function comparePaths(
  input: unknown,
  output: unknown,
  path: string,
  comparison: Comparison,
): readonly string[] {
  if (input === output) return NOTHING
  comparison.comparisonsLeft--
  if (Array.isArray(input)) return compareItems(input, Array.isArray(output) ? output : [], path, comparison)
  if (isElement(input)) {
    if (!isElement(output)) return [path]
    let lostPaths: string[] | undefined
    for (const name of Object.keys(input)) {
      const value = input[name]
      const outputValue = memberOf(output, name)
      // Most are the same, so that nobody needs the path.
      if (value === outputValue || isParaphrase(name, input, output)) continue
      lostPaths = addPaths(lostPaths, comparePaths(value, outputValue, `${path}.${name}`, comparison))
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

/**
 * Each item of the input needs an item of its own in the output, which contains it. For any other one, the most similar of
 * the remaining items shows what is lost.
 */
function compareItems(
  input: readonly unknown[],
  output: readonly unknown[],
  path: string,
  comparison: Comparison,
): readonly string[] {
  const lossOf = (from: number, to: number) =>
    comparePaths(input[from], output[to], `${path}[${from}]`, comparison)
  const contains = (from: number, to: number) => lossOf(from, to).length === 0
  const matches = matchItems(input.length, output.length, contains, comparison)
  if (matches.size === input.length) return NOTHING
  const matched = new Set(matches.values())
  const remaining = new Set([...output.keys()].filter((to) => !matched.has(to)))
  const lostPaths: string[] = []
  for (const [from, item] of input.entries()) {
    if (matches.has(from)) continue
    let least: { loss: readonly string[]; to: number } | undefined
    const candidates = comparison.comparisonsLeft > 0 ? remaining : [from].filter((to) => remaining.has(to))
    for (const to of candidates) {
      const loss = lossOf(from, to)
      if (least === undefined || loss.length < least.loss.length) least = { loss, to }
    }
    const similar = least && least.loss.length < leafCount(item) ? least : undefined
    if (similar) remaining.delete(similar.to)
    addPaths(lostPaths, similar?.loss ?? [`${path}[${from}]`])
  }
  return lostPaths
}

/**
 * Finds a maximum matching by augmenting paths. It has no recursion, since clients choose the number of items.
 * @returns the positions in the output by those in the input
 */
function matchItems(
  inputCount: number,
  outputCount: number,
  contains: (from: number, to: number) => boolean,
  comparison: Comparison,
): Map<number, number> {
  const outputOf = new Map<number, number>()
  const inputOf = new Map<number, number>()
  const reachedFrom = new Map<number, number>()
  // Outputs that an earlier search visited without success cannot succeed later.
  const deadEnds = new Set<number>()
  const findFreeOutput = (first: number): number | undefined => {
    const queue = [first]
    for (const from of queue)
      for (let i = 0; i < outputCount; i++) {
        if (i > 0 && comparison.comparisonsLeft-- <= 0) break
        // Nearly all items keep their position.
        const to = (from + i) % outputCount
        if (deadEnds.has(to) || reachedFrom.has(to) || !contains(from, to)) continue
        reachedFrom.set(to, from)
        const matchedInput = inputOf.get(to)
        if (matchedInput === undefined) return to
        queue.push(matchedInput)
      }
    return undefined
  }
  for (let first = 0; first < inputCount; first++) {
    let to = findFreeOutput(first)
    if (to === undefined) for (const deadEnd of reachedFrom.keys()) deadEnds.add(deadEnd)
    while (to !== undefined) {
      const from = reachedFrom.get(to) as number
      const former = outputOf.get(from)
      outputOf.set(from, to)
      inputOf.set(to, from)
      to = former
    }
    reachedFrom.clear()
  }
  return outputOf
}

const leafCount = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? Object.values(value).reduce((sum: number, one) => sum + leafCount(one), 0)
    : 1
