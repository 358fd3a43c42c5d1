import { numberIn, type Term, textIn } from './terms.ts'

type Result = string | number | boolean | undefined

/** What is joined to a text. */
const textOf = (term: Term): string | undefined => {
  const found = textIn(term) ?? numberIn(term)
  return found === undefined ? undefined : String(found)
}

function ofTexts(first: Term, second: Term, work: (one: string, other: string) => Result): Result {
  const [one, other] = [textIn(first), textIn(second)]
  return one === undefined || other === undefined ? undefined : work(one, other)
}

function ofNumber(term: Term | undefined, work: (value: number) => number): Result {
  const value = term && numberIn(term)
  if (value === undefined) return undefined
  const result = work(value)
  return Number.isFinite(result) ? result : undefined
}

/** Half away from zero, as one rounds on paper. */
function rounded(value: number, digits: number): number {
  const factor = 10 ** Math.max(-15, Math.min(15, Math.trunc(digits)))
  return (Math.sign(value) * Math.round(Math.abs(value) * factor)) / factor
}

/** Positions are counted from 1. */
function substring(text: Term, from: Term, length: Term | undefined): Result {
  const [value, start] = [textIn(text), numberIn(from)]
  const count = length ? numberIn(length) : Number.POSITIVE_INFINITY
  if (value === undefined || start === undefined || count === undefined) return undefined
  const begin = Math.trunc(start) - 1
  return [...value].slice(Math.max(0, begin), Math.max(0, begin + Math.trunc(count))).join('')
}

const join = (separator: string, terms: readonly Term[]): Result =>
  terms.flatMap((term) => textOf(term) ?? []).join(separator)

/** What a function makes of its arguments at this moment; undefined: nothing, as of what is missing. */
export function applied(name: string, terms: readonly Term[], now: Date): Result {
  const [first = { value: undefined }, second = { value: undefined }, third] = terms
  const at = now.toISOString()
  switch (name) {
    case 'LENGTH': {
      const text = textIn(first)
      return text === undefined ? undefined : [...text].length
    }
    case 'CONTAINS':
      return ofTexts(first, second, (text, part) => text.includes(part))
    case 'POSITION':
      return ofTexts(first, second, (part, text) => text.indexOf(part) + 1)
    case 'SUBSTRING':
      return substring(first, second, third)
    case 'CONCAT':
      return join('', terms)
    case 'CONCAT_WS':
      return join(textIn(first) ?? '', terms.slice(1))
    case 'ABS':
      return ofNumber(first, Math.abs)
    case 'MOD':
      return ofNumber(first, (value) => value % (numberIn(second) ?? Number.NaN))
    case 'CEIL':
      return ofNumber(first, Math.ceil)
    case 'FLOOR':
      return ofNumber(first, Math.floor)
    case 'ROUND':
      return ofNumber(first, (value) => rounded(value, terms[1] ? (numberIn(second) ?? Number.NaN) : 0))
    case 'CURRENT_DATE':
      return at.slice(0, 10)
    case 'CURRENT_TIME':
      return at.slice(11)
    case 'CURRENT_TIMEZONE':
      return 'Z'
    default:
      return at
  }
}
