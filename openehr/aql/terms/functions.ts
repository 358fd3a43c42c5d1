import { requireShortResult, type StepBudget } from './step-budget.ts'
import { numberOfTerm, type Term, textOfTerm } from './terms.ts'

type FunctionResult = string | number | boolean | undefined

/** A term as a text, for joining. */
const termText = (term: Term): string | undefined => {
  const value = textOfTerm(term) ?? numberOfTerm(term)
  return value === undefined ? undefined : String(value)
}

/** From this length on, a search may compare the whole part at each position. */
const LONG_PART_LENGTH = 250

/** The index of a part in a text; -1 if it does not occur. */
function indexOfPart(text: Term, part: Term, budget: StepBudget): number | undefined {
  const one = textOfTerm(text)
  const other = textOfTerm(part)
  if (one === undefined || other === undefined) return undefined
  budget.consume(one.length * (other.length > LONG_PART_LENGTH ? other.length : 1))
  return one.indexOf(other)
}

function applyToNumber(term: Term | undefined, work: (value: number) => number): FunctionResult {
  const value = term && numberOfTerm(term)
  if (value === undefined) return undefined
  const result = work(value)
  return Number.isFinite(result) ? result : undefined
}

/** Rounds half away from zero, as on paper. */
function roundHalfAwayFromZero(value: number, digits: number): number {
  const factor = 10 ** Math.max(-15, Math.min(15, Math.trunc(digits)))
  return (Math.sign(value) * Math.round(Math.abs(value) * factor)) / factor
}

function lengthOf(term: Term, budget: StepBudget): FunctionResult {
  const text = textOfTerm(term)
  if (text === undefined) return undefined
  budget.consume(text.length)
  let pairs = 0
  for (let i = 0; i < text.length; i++) if ((text.codePointAt(i) as number) > 0xffff) pairs++
  return text.length - pairs
}

/** The offset after this number of characters; a character beyond the basic plane has two units. */
function offsetAfter(text: string, from: number, characters: number): number {
  let offset = from
  for (let i = 0; i < characters && offset < text.length; i++)
    offset += (text.codePointAt(offset) as number) > 0xffff ? 2 : 1
  return offset
}

/** Positions start at 1. */
function substringOf(text: Term, from: Term, length: Term | undefined, budget: StepBudget): FunctionResult {
  const value = textOfTerm(text)
  const start = numberOfTerm(from)
  const count = length ? numberOfTerm(length) : Number.POSITIVE_INFINITY
  if (value === undefined || start === undefined || count === undefined) return undefined
  budget.consume(value.length)
  const first = Math.trunc(start) - 1
  const begin = Math.max(0, first)
  const offset = offsetAfter(value, 0, begin)
  return value.slice(offset, offsetAfter(value, offset, first + Math.trunc(count) - begin))
}

function joinTexts(separator: string, terms: readonly Term[], budget: StepBudget): FunctionResult {
  const texts = terms.flatMap((term) => termText(term) ?? [])
  const length = texts.reduce((sum, text) => sum + text.length + separator.length, 0)
  requireShortResult(length)
  budget.consume(length)
  return texts.join(separator)
}

/** The specification writes a zone in digits. */
const ZONE = '+00:00'

/** Applies a function to its arguments; undefined if an argument is missing or of the wrong type. */
export function applyFunction(
  name: string,
  terms: readonly Term[],
  currentTime: Date,
  budget: StepBudget,
): FunctionResult {
  const [first = { value: undefined }, second = { value: undefined }, third] = terms
  const nowText = currentTime.toISOString()
  switch (name) {
    case 'LENGTH':
      return lengthOf(first, budget)
    case 'CONTAINS': {
      const index = indexOfPart(first, second, budget)
      return index === undefined ? undefined : index >= 0
    }
    case 'POSITION': {
      const index = indexOfPart(second, first, budget)
      return index === undefined ? undefined : index + 1
    }
    case 'SUBSTRING':
      return substringOf(first, second, third, budget)
    case 'CONCAT':
      return joinTexts('', terms, budget)
    case 'CONCAT_WS':
      return joinTexts(textOfTerm(first) ?? '', terms.slice(1), budget)
    case 'ABS':
      return applyToNumber(first, Math.abs)
    case 'MOD':
      return applyToNumber(first, (value) => value % (numberOfTerm(second) ?? Number.NaN))
    case 'CEIL':
      return applyToNumber(first, Math.ceil)
    case 'FLOOR':
      return applyToNumber(first, Math.floor)
    case 'ROUND':
      return applyToNumber(first, (value) =>
        roundHalfAwayFromZero(value, terms[1] ? (numberOfTerm(second) ?? Number.NaN) : 0),
      )
    case 'CURRENT_DATE':
      return nowText.slice(0, 10)
    case 'CURRENT_TIME':
      return nowText.slice(11, 19)
    case 'CURRENT_TIMEZONE':
      return ZONE
    default:
      return nowText.replace('Z', ZONE)
  }
}
