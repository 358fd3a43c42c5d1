import { isProblem, Problem } from 'health-record-client'
import { parseDecimal } from '../../texts/format.ts'
import { translate } from '../../texts/translate.ts'
import { FOUND_HERE, type FormViolation } from '../../texts/violation-text.ts'

/** A fault that a form finds by itself, in the language of the reader. */
export interface FieldFault {
  /** The name of the field. */
  field: string
  message: string
}

/** The problem of a form whose fields cannot be sent. It is shown as if the service had found it. */
export const fieldsProblem = (faults: readonly FieldFault[]): Problem =>
  new Problem({
    status: 422,
    code: 'rule-violated',
    title: '',
    errors: faults.map(({ field, message }) => ({ path: `body.${field}`, code: FOUND_HERE, message })),
  })

interface WholeNumberField {
  field: string
  min: number
  max: number
}

/** The whole number in a field. @throws Problem that names the limits */
export function parseWholeNumber(text: string, { field, min, max }: WholeNumberField): number {
  const value = parseDecimal(text)
  if (value !== undefined && Number.isInteger(value) && value >= min && value <= max) return value
  throw fieldsProblem([{ field, message: translate('violation.whole', { min, max }) }])
}

/** Each text in JSON, with the colon that makes it a name. */
const JSON_TEXTS = /"(?:[^"\\]|\\.)*"[ \t\n\r]*(:?)/g

const countWrittenNames = (text: string): number =>
  [...text.matchAll(JSON_TEXTS)].filter(([, colon]) => colon).length

function countNames(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const ownNames = Array.isArray(value) ? 0 : Object.keys(value).length
  return Object.values(value).reduce((sum: number, one) => sum + countNames(one), ownNames)
}

/**
 * The value of a field in which people write JSON. Of a name that occurs twice in an object, the parser drops the first.
 * @throws Problem that names the field
 */
export function parseJson(text: string, field: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw fieldsProblem([{ field, message: translate('violation.json') }])
  }
  if (countWrittenNames(text) > countNames(value))
    throw fieldsProblem([{ field, message: translate('violation.repeated') }])
  return value
}

/** Whether a violation is about the value at a path, or a part of it. */
export const isWithin = (violation: string, path: string): boolean =>
  `${violation.replace(/^(body|query)\./, '')}.`.startsWith(`${path}.`)

type Field = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement

const isField = (element: Element): element is Field => 'value' in element && 'labels' in element

/** The field that a violation is about: of a field and one for a part of its value, the latter. */
export const findField = (form: HTMLFormElement | null, path: string): Field | undefined =>
  [...(form?.elements ?? [])]
    .filter(isField)
    .filter(({ name }) => name !== '' && isWithin(path, name))
    .sort((a, b) => b.name.length - a.name.length)[0]

/** The label of a field; a box to tick has that of its group. */
export function labelOf(field: Field): string {
  const group = field.type === 'checkbox' ? field.closest('fieldset')?.querySelector('legend') : undefined
  return (group ?? field.labels?.[0])?.textContent ?? ''
}

/** What is wrong with an empty field as well, though the fault is that it is empty. */
const FORM_CODES = ['minLength', 'pattern', 'format', 'type', 'minItems', 'length', 'date']

function toFormViolation(violation: FormViolation, form: HTMLFormElement): FormViolation {
  const field = findField(form, violation.path)
  if (!field) return violation
  if (field.value.trim() === '' && FORM_CODES.includes(violation.code))
    return { ...violation, code: 'required' }
  const index = violation.path.split(`${field.name}.`)[1]?.split('.')[0]
  const entry = field instanceof HTMLTextAreaElement ? linesOf(field.value)[Number(index)] : undefined
  return { ...violation, ...(entry !== undefined && { entry }) }
}

/** The entries of a field that has one on each line. */
export const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)

/** What a form shows of a problem: violations in the order of its fields, and a wrong password as that of a field. */
export function toFormProblem(problem: Problem, form: HTMLFormElement | null): Problem {
  if (!form) return problem
  const password = form.querySelector<HTMLInputElement>('input[autocomplete=current-password]')
  if (isProblem(problem, 'wrong-password') && password) {
    const violation = { path: `body.${password.name}`, code: 'wrong-password', message: '' }
    return new Problem({ ...problem, errors: [violation] })
  }
  // The other faults of such a value are those of forms that it need not have.
  const variants = problem.errors.filter(({ code }) => code === 'anyOf').map(({ path }) => path)
  const errors = problem.errors
    .filter(({ path, code }) => code === 'anyOf' || !variants.includes(path))
    .map((violation) => toFormViolation(violation, form))
  const fields = [...form.elements]
  const placeOf = ({ path }: FormViolation): number => fields.indexOf(findField(form, path) ?? form)
  return new Problem({ ...problem, errors: errors.sort((a, b) => placeOf(a) - placeOf(b)) })
}
