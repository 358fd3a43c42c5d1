import type { Violation } from '../../schemas/validation/violations.ts'
import {
  describeInterval,
  findCodeTerm,
  findTerm,
  type Interval,
  isInInterval,
  isLocalTerminology,
  type ObjectConstraint,
  type Primitive,
} from '../opt/constraints.ts'
import { createTextMatcher } from '../opt/text-matcher.ts'
import type { RmObject } from '../rm/canonical-json.ts'
import { isInTemporalRange, matchesTemporalPattern } from './temporal.ts'

/** The violations of a value itself, without its attributes. */
export function valueViolations(node: ObjectConstraint, value: unknown, path: string): Violation[] {
  const { primitive, codes, quantity, ordinals } = node
  if (primitive) return primitiveViolations(primitive, value, path)
  if (codes) return codeViolations(node, codes, value as RmObject, path)
  if (quantity) return quantityViolations(quantity, value as RmObject, path)
  if (ordinals && ordinals.length > 0) return ordinalViolations(node, ordinals, value as RmObject, path)
  if (isFractionalOrdinal(value)) return violationAt(`${path}.value`, 'format', 'must be a whole number')
  return codedTextViolations(node, value, path)
}

/** Only a template that lists them allows fractions. */
const isFractionalOrdinal = (value: unknown): boolean => {
  const { _type, value: number } = (value ?? {}) as Partial<RmObject>
  return _type === 'DV_ORDINAL' && !Number.isInteger(number)
}

const violationAt = (path: string, code: string, message: string): Violation[] => [{ path, code, message }]

/** Shortens a list to a readable length. */
const formatList = (values: readonly (string | number)[]): string =>
  `${values.slice(0, 20).join(', ').slice(0, 500)}${values.length > 20 ? ', …' : ''}`

function primitiveViolations(primitive: Primitive, value: unknown, path: string): Violation[] {
  switch (primitive.type) {
    case 'string':
      return stringViolations(primitive, String(value), path)
    case 'boolean':
      if (value === true ? primitive.trueValid : primitive.falseValid) return []
      return violationAt(path, 'value', `must be ${value !== true}`)
    case 'number':
      return numberViolations(primitive, value as number, path)
    default:
      return temporalViolations(primitive, String(value), path)
  }
}

function stringViolations(
  { list, isOpen, pattern }: Extract<Primitive, { type: 'string' }>,
  value: string,
  path: string,
): Violation[] {
  if (list && !isOpen && !list.includes(value))
    return violationAt(path, 'value', `must be one of ${formatList(list)}`)
  // An attribute that names archetypes by a pattern (action_archetype_id) may contain the pattern itself.
  if (pattern && value !== pattern && !createTextMatcher(pattern)(value))
    return violationAt(path, 'pattern', `must match ${pattern.slice(0, 500)}`)
  return []
}

function numberViolations(
  { list, range }: Extract<Primitive, { type: 'number' }>,
  value: number,
  path: string,
): Violation[] {
  if (list && !list.includes(value)) return violationAt(path, 'value', `must be one of ${formatList(list)}`)
  return range ? rangeViolations(range, value, path) : []
}

const rangeViolations = (range: Interval, value: number, path: string): Violation[] =>
  isInInterval(range, value) ? [] : violationAt(path, 'range', `must be ${describeInterval(range)}`)

type TemporalPrimitive = Extract<Primitive, { type: 'date' | 'time' | 'date-time' | 'duration' }>

function temporalViolations(
  { type, pattern, range }: TemporalPrimitive,
  value: string,
  path: string,
): Violation[] {
  if (pattern && !matchesTemporalPattern(type, pattern, value))
    return violationAt(path, 'pattern', `must have the form ${pattern}`)
  if (range && !isInTemporalRange(type, range, value))
    return violationAt(path, 'range', `must be ${describeInterval(range)}`)
  return []
}

interface CodePhrase {
  terminology_id?: { value?: string }
  code_string?: string
}

/** A template that names no version of a terminology, as in `SNOMED-CT(2003)`, allows any. */
const isOfTerminology = (terminologyId: string, terminology: string): boolean =>
  [terminologyId, terminologyId.replace(/\([^()]*\)$/, '')].some(
    (one) => one.toLowerCase() === terminology.toLowerCase(),
  )

function codeViolations(
  node: ObjectConstraint,
  { terminology, list }: ObjectConstraint['codes'] & object,
  value: RmObject,
  path: string,
): Violation[] {
  const { terminology_id, code_string = '' } = value as CodePhrase
  const terminologyId = terminology_id?.value ?? ''
  const faults: Violation[] = []
  if (terminology !== '' && !isOfTerminology(terminologyId, terminology))
    faults.push(...violationAt(`${path}.terminology_id.value`, 'terminology', `must be ${terminology}`))
  if (list.length > 0 && !list.includes(code_string))
    faults.push(...violationAt(`${path}.code_string`, 'code', `must be one of ${formatList(list)}`))
  else if (
    isLocalTerminology(terminologyId) &&
    /^at\d/.test(code_string) &&
    findTerm(node, code_string) === undefined
  )
    faults.push(...violationAt(`${path}.code_string`, 'code', `must be a code of ${node.archetype.id}`))
  return faults
}

/** Whether the template lists the permitted codes. */
const hasCodeList = ({ attributes }: ObjectConstraint): boolean =>
  attributes.some(
    ({ name, children }) => name === 'defining_code' && children.some((one) => one.codes?.list.length),
  )

/**
 * The text of a code must be the one that the template gives it: the archetype's term, or the text of a code of
 * another terminology. Rubrics of openEHR's codes have translations, so these are not compared.
 */
function codedTextViolations(node: ObjectConstraint, value: unknown, path: string): Violation[] {
  const { _type, defining_code, value: text } = (value ?? {}) as Record<string, unknown>
  if (_type !== 'DV_CODED_TEXT' || !hasCodeList(node)) return []
  return labelViolations(node, defining_code as CodePhrase | undefined, text, path)
}

function labelViolations(
  node: ObjectConstraint,
  code: CodePhrase | undefined,
  text: unknown,
  path: string,
): Violation[] {
  const terminology = code?.terminology_id?.value ?? '-'
  if (terminology === 'openehr') return []
  const label = findCodeTerm(node, { terminology, code: code?.code_string ?? '' })?.text
  if (label === undefined || label === text) return []
  return violationAt(`${path}.value`, 'label', `must be ${label} for the code ${code?.code_string}`)
}

function quantityViolations(
  { property, list }: ObjectConstraint['quantity'] & object,
  value: RmObject,
  path: string,
): Violation[] {
  const { units, magnitude, precision } = value as unknown as {
    units: string
    magnitude: number
    precision?: number
  }
  if (list.length === 0) return []
  const unitConstraints = list.filter((one) => one.units === units)
  const [first] = unitConstraints
  if (first === undefined) {
    const propertySuffix = property ? ` (property ${property.code})` : ''
    return violationAt(
      `${path}.units`,
      'units',
      `must be one of ${formatList(list.map((one) => one.units))}${propertySuffix}`,
    )
  }
  const faults: Violation[] = []
  if (first.magnitude) faults.push(...rangeViolations(first.magnitude, magnitude, `${path}.magnitude`))
  if (first.precision && precision !== undefined && precision !== -1)
    faults.push(...rangeViolations(first.precision, precision, `${path}.precision`))
  return faults
}

function ordinalViolations(
  node: ObjectConstraint,
  ordinals: ObjectConstraint['ordinals'] & object,
  object: RmObject,
  path: string,
): Violation[] {
  const { value, symbol } = object as unknown as { value: number; symbol?: RmObject }
  const code = symbol?.defining_code as CodePhrase | undefined
  const ordinal = ordinals.find((one) => one.value === value)
  if (ordinal === undefined)
    return violationAt(
      `${path}.value`,
      'value',
      `must be one of ${formatList(ordinals.map((one) => one.value))}`,
    )
  if (ordinal.symbol.code !== code?.code_string)
    return violationAt(
      `${path}.symbol.defining_code.code_string`,
      'code',
      `must be ${ordinal.symbol.code} for ${value}`,
    )
  return labelViolations(node, code, symbol?.value, `${path}.symbol`)
}
