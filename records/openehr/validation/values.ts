import type { Violation } from '../../../schemas/violation.ts'
import {
  contains,
  type Interval,
  inWords,
  type ObjectConstraint,
  type Primitive,
  termOf,
} from '../opt/constraints.ts'
import { patternOf } from '../opt/patterns.ts'
import type { RmObject } from '../rm/canonical.ts'
import { fitsPattern, inRange } from './temporal.ts'

/** What is wrong with a value itself, apart from what it is made of. */
export function valueFaults(node: ObjectConstraint, value: unknown, path: string): Violation[] {
  const { primitive, codes, quantity, ordinals } = node
  if (primitive) return primitiveFaults(primitive, value, path)
  if (codes) return codeFaults(node, codes, value as RmObject, path)
  if (quantity) return quantityFaults(quantity, value as RmObject, path)
  if (ordinals && ordinals.length > 0) return ordinalFaults(node, ordinals, value as RmObject, path)
  return codedTextFaults(node, value, path)
}

const fault = (path: string, code: string, message: string): Violation[] => [{ path, code, message }]

/** Lists are shown as long as they can be read. */
const listed = (values: readonly (string | number)[]): string =>
  `${values.slice(0, 20).join(', ').slice(0, 500)}${values.length > 20 ? ', …' : ''}`

function primitiveFaults(primitive: Primitive, value: unknown, path: string): Violation[] {
  switch (primitive.type) {
    case 'string':
      return stringFaults(primitive, String(value), path)
    case 'boolean':
      if (value === true ? primitive.trueValid : primitive.falseValid) return []
      return fault(path, 'value', `must be ${value !== true}`)
    case 'number':
      return numberFaults(primitive, value as number, path)
    default:
      return temporalFaults(primitive, String(value), path)
  }
}

function stringFaults(
  { list, pattern }: Extract<Primitive, { type: 'string' }>,
  value: string,
  path: string,
): Violation[] {
  if (list && !list.includes(value)) return fault(path, 'value', `must be one of ${listed(list)}`)
  // What names archetypes by a pattern (action_archetype_id) may be that pattern.
  if (pattern && value !== pattern && !patternOf(pattern)(value))
    return fault(path, 'pattern', `must be as ${pattern.slice(0, 500)} says`)
  return []
}

function numberFaults(
  { list, range }: Extract<Primitive, { type: 'number' }>,
  value: number,
  path: string,
): Violation[] {
  if (list && !list.includes(value)) return fault(path, 'value', `must be one of ${listed(list)}`)
  return range ? rangeFaults(range, value, path) : []
}

const rangeFaults = (range: Interval, value: number, path: string): Violation[] =>
  contains(range, value) ? [] : fault(path, 'range', `must be ${inWords(range)}`)

type Temporal = Extract<Primitive, { type: 'date' | 'time' | 'date-time' | 'duration' }>

function temporalFaults({ type, pattern, range }: Temporal, value: string, path: string): Violation[] {
  if (pattern && !fitsPattern(type, pattern, value))
    return fault(path, 'pattern', `must be written as ${pattern}`)
  if (range && !inRange(type, range, value)) return fault(path, 'range', `must be ${inWords(range)}`)
  return []
}

interface CodePhrase {
  terminology_id?: { value?: string }
  code_string?: string
}

/** `local`, and whatever else stands for the archetype's own codes. */
const isLocal = (terminology: string): boolean => terminology === '' || terminology.toLowerCase() === 'local'

function codeFaults(
  node: ObjectConstraint,
  { terminology, list }: ObjectConstraint['codes'] & object,
  value: RmObject,
  path: string,
): Violation[] {
  const { terminology_id, code_string = '' } = value as CodePhrase
  const named = terminology_id?.value ?? ''
  const faults: Violation[] = []
  if (terminology !== '' && named.toLowerCase() !== terminology.toLowerCase() && list.length > 0)
    faults.push(...fault(`${path}.terminology_id.value`, 'terminology', `must be ${terminology}`))
  if (list.length > 0 && !list.includes(code_string))
    faults.push(...fault(`${path}.code_string`, 'code', `must be one of ${listed(list)}`))
  else if (isLocal(named) && /^at\d/.test(code_string) && termOf(node, code_string) === undefined)
    faults.push(...fault(`${path}.code_string`, 'code', `must be a code of ${node.archetype.id}`))
  return faults
}

/** Whether the template says which codes there are. */
const isListed = ({ attributes }: ObjectConstraint): boolean =>
  attributes.some(
    ({ name, children }) => name === 'defining_code' && children.some((one) => one.codes?.list.length),
  )

/** Of a code of the archetype the text is what the archetype calls it. */
function codedTextFaults(node: ObjectConstraint, value: unknown, path: string): Violation[] {
  const { _type, defining_code, value: text } = (value ?? {}) as Record<string, unknown>
  if (_type !== 'DV_CODED_TEXT' || !isListed(node)) return []
  return labelFaults(node, defining_code as CodePhrase | undefined, text, path)
}

function labelFaults(
  node: ObjectConstraint,
  code: CodePhrase | undefined,
  text: unknown,
  path: string,
): Violation[] {
  const label = termOf(node, code?.code_string ?? '')?.text
  if (!isLocal(code?.terminology_id?.value ?? '-') || label === undefined || label === text) return []
  return fault(`${path}.value`, 'label', `must be ${label} for the code ${code?.code_string}`)
}

function quantityFaults(
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
  const allowed = list.filter((one) => one.units === units)
  const [first] = allowed
  if (first === undefined) {
    const of = property ? ` (property ${property.code})` : ''
    return fault(`${path}.units`, 'units', `must be one of ${listed(list.map((one) => one.units))}${of}`)
  }
  const faults: Violation[] = []
  if (first.magnitude) faults.push(...rangeFaults(first.magnitude, magnitude, `${path}.magnitude`))
  if (first.precision && precision !== undefined && precision !== -1)
    faults.push(...rangeFaults(first.precision, precision, `${path}.precision`))
  return faults
}

function ordinalFaults(
  node: ObjectConstraint,
  ordinals: ObjectConstraint['ordinals'] & object,
  object: RmObject,
  path: string,
): Violation[] {
  const { value, symbol } = object as unknown as { value: number; symbol?: RmObject }
  const code = symbol?.defining_code as CodePhrase | undefined
  const found = ordinals.find((one) => one.value === value)
  if (found === undefined)
    return fault(`${path}.value`, 'value', `must be one of ${listed(ordinals.map((one) => one.value))}`)
  if (found.symbol.code !== code?.code_string)
    return fault(
      `${path}.symbol.defining_code.code_string`,
      'code',
      `must be ${found.symbol.code} for ${value}`,
    )
  return labelFaults(node, code, symbol?.value, `${path}.symbol`)
}
