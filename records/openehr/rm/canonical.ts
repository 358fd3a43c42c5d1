import { articled } from '../../../schemas/common.ts'
import type { Violation } from '../../../schemas/violation.ts'
import { isA, type RmAttribute, type RmClass, rmClass } from './classes.ts'
import { magnitudeOf } from './ordering.ts'
import { primitives } from './primitives.ts'

/** An object of the reference model in canonical JSON, with every `_type`. */
export interface RmObject {
  _type: string
  [attribute: string]: unknown
}

/** What is found wrong on the way, with the places where it is. */
class Faults {
  readonly found: Violation[] = []

  add(path: string, code: string, message: string): undefined {
    if (this.found.length < MOST) this.found.push({ path, code, message })
  }
}

/** More violations than this help nobody. */
export const MOST = 500

/** The longest member name that is repeated in an answer. */
const LONGEST_NAME = 60

/**
 * Reads canonical JSON as a class of the reference model: types are completed where they can be inferred, numbers in
 * texts become numbers, and what is null or empty is left out.
 */
export function canonical(
  json: unknown,
  type: string,
): { object: RmObject | undefined; violations: Violation[] } {
  const faults = new Faults()
  const object = readObject(json, type, '', faults)
  return { object, violations: faults.found }
}

const at = (path: string, name: string | number): string => (path === '' ? String(name) : `${path}.${name}`)

const isMissing = (value: unknown): boolean =>
  value === null || value === undefined || (Array.isArray(value) && value.length === 0)

function readObject(json: unknown, declared: string, path: string, faults: Faults): RmObject | undefined {
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    return faults.add(path, 'type', `must be an object, a ${declared}`)
  const given = json as Record<string, unknown>
  const rm = classOf(given, declared, path, faults)
  if (rm === undefined) return undefined
  const object: RmObject = { _type: rm.name }
  for (const attribute of rm.attributes.values()) {
    const told = given[attribute.name]
    // Most of a class are not told, and cost nothing.
    if (isMissing(told) && !attribute.mandatory) continue
    const value = readAttribute(told, attribute, at(path, attribute.name), faults)
    if (value !== undefined) object[attribute.name] = value
  }
  for (const name of Object.keys(given))
    if (name !== '_type' && !rm.attributes.has(name) && !isMissing(given[name]) && !isOverlooked(rm, name))
      faults.add(at(path, name.slice(0, LONGEST_NAME)), 'unknown', `is not an attribute of ${rm.name}`)
  return completed(object, path, faults)
}

/** What programs that follow another server write in the wrong place; it is left out. */
const OVERLOOKED: readonly [of: string, attribute: string][] = [
  ['LOCATABLE', 'feeder_system_audit'],
  ['DV_CODED_TEXT', 'type'],
]

const isOverlooked = (rm: RmClass, name: string): boolean =>
  OVERLOOKED.some(([of, attribute]) => attribute === name && rm.isA.has(of))

function classOf(
  given: Record<string, unknown>,
  declared: string,
  path: string,
  faults: Faults,
): RmClass | undefined {
  const named = given._type ?? inferred(given, declared)
  const rm = typeof named === 'string' ? rmClass(named) : undefined
  if (rm === undefined || rm.abstract) {
    const known = given._type !== undefined || rmClass(declared)?.abstract !== true
    const message = known ? 'must be a class of the reference model' : 'is required'
    return faults.add(at(path, '_type'), '_type', message)
  }
  if (!isA(rm.name, declared)) return faults.add(at(path, '_type'), '_type', `must be ${articled(declared)}`)
  return rm
}

/** The class of an object that does not name it, as far as the place and the attributes tell. */
function inferred(given: Record<string, unknown>, declared: string): string {
  switch (declared) {
    case 'DV_TEXT':
      return isMissing(given.defining_code) ? declared : 'DV_CODED_TEXT'
    case 'EVENT':
      return isMissing(given.width) ? 'POINT_EVENT' : 'INTERVAL_EVENT'
    case 'UID_BASED_ID':
      return String(given.value).includes('::') ? 'OBJECT_VERSION_ID' : 'HIER_OBJECT_ID'
    case 'OBJECT_ID':
      return isMissing(given.scheme) ? 'HIER_OBJECT_ID' : 'GENERIC_ID'
    case 'ITEM':
      return isMissing(given.items) ? 'ELEMENT' : 'CLUSTER'
    default:
      return declared
  }
}

function readAttribute(value: unknown, attribute: RmAttribute, path: string, faults: Faults): unknown {
  if (isMissing(value)) return faults.add(path, 'required', 'is required')
  if (!attribute.multiple) return readValue(value, attribute.type, path, faults)
  if (!Array.isArray(value)) return faults.add(path, 'type', 'must be an array')
  return value.map((member, i) => readValue(member, attribute.type, at(path, i), faults))
}

function readValue(value: unknown, type: string, path: string, faults: Faults): unknown {
  const primitive = primitives[type]
  if (primitive === undefined) return readObject(value, type, path, faults)
  const read = primitive(value)
  return 'fault' in read ? faults.add(path, 'format', read.fault) : read.value
}

/** What holds between the attributes of one object. */
function completed(object: RmObject, path: string, faults: Faults): RmObject {
  if (object._type === 'DV_INTERVAL') return completeInterval(object, path, faults)
  if (object._type === 'DV_PROPORTION') checkProportion(object, path, faults)
  for (const [name, codes] of GROUPS[object._type] ?? [])
    checkGroup(object[name], codes, at(path, name), faults)
  return object
}

/** Which codes of openEHR's own terminology an attribute may have. */
const GROUPS: Readonly<Record<string, readonly [attribute: string, codes: readonly number[]][]>> = {
  COMPOSITION: [['category', [431, 433, 451, 815]]],
  EVENT_CONTEXT: [['setting', [225, 227, 228, 229, 230, 231, 232, 233, 234, 235, 236, 237, 238, 802]]],
  ELEMENT: [['null_flavour', [253, 271, 272, 273]]],
  INTERVAL_EVENT: [['math_function', [144, 145, 146, 147, 148, 149, 267, 268, 521, 522, 640]]],
  ISM_TRANSITION: [['current_state', [245, 524, 526, 527, 528, 529, 530, 531, 532, 533]]],
}

/** What another terminology says is its own affair. */
function checkGroup(value: unknown, codes: readonly number[], path: string, faults: Faults): void {
  const { terminology_id, code_string } = ((value as RmObject | undefined)?.defining_code ?? {}) as {
    terminology_id?: { value?: string }
    code_string?: string
  }
  if (terminology_id?.value !== 'openehr' || codes.some((code) => String(code) === code_string)) return
  faults.add(at(path, 'defining_code.code_string'), 'code', `must be one of ${codes.join(', ')}`)
}

/** Flags of the ends that are not given follow from which ends there are. */
function completeInterval(given: RmObject, path: string, faults: Faults): RmObject {
  const { lower, upper, lower_unbounded = !lower, upper_unbounded = !upper } = given as unknown as Ends
  const { lower_included = !lower_unbounded, upper_included = !upper_unbounded } = given as unknown as Ends
  if (!lower && !lower_unbounded)
    faults.add(at(path, 'lower'), 'required', 'is required unless lower_unbounded')
  if (!upper && !upper_unbounded)
    faults.add(at(path, 'upper'), 'required', 'is required unless upper_unbounded')
  if (lower_unbounded && lower_included)
    faults.add(at(path, 'lower_included'), 'value', 'must be false, as there is no lower end')
  if (upper_unbounded && upper_included)
    faults.add(at(path, 'upper_included'), 'value', 'must be false, as there is no upper end')
  if (lower && upper) checkOrder(lower, upper, at(path, 'upper'), faults)
  return {
    _type: given._type,
    ...(lower && { lower }),
    ...(upper && { upper }),
    lower_included,
    upper_included,
    lower_unbounded,
    upper_unbounded,
  }
}

interface Ends {
  lower?: RmObject
  upper?: RmObject
  lower_included?: boolean
  upper_included?: boolean
  lower_unbounded?: boolean
  upper_unbounded?: boolean
}

function checkOrder(lower: RmObject, upper: RmObject, path: string, faults: Faults): void {
  if (lower._type !== upper._type)
    faults.add(path, 'type', `must be ${articled(String(lower._type))}, as lower is`)
  else if (Number(magnitudeOf(lower)) > Number(magnitudeOf(upper)))
    faults.add(path, 'order', 'must not be less than lower')
}

/** The kinds of a proportion: 0 ratio, 1 unitary, 2 percent, 3 fraction, 4 integer fraction. */
function checkProportion({ type, numerator, denominator }: RmObject, path: string, faults: Faults): void {
  if (denominator === 0) faults.add(at(path, 'denominator'), 'range', 'must not be 0')
  if (type === 1 && denominator !== 1)
    faults.add(at(path, 'denominator'), 'range', 'must be 1 in a unitary proportion')
  if (type === 2 && denominator !== 100)
    faults.add(at(path, 'denominator'), 'range', 'must be 100 in a percentage')
  if ((type === 3 || type === 4) && !(Number.isInteger(numerator) && Number.isInteger(denominator)))
    faults.add(at(path, 'numerator'), 'range', 'must be whole, as the denominator must, in a fraction')
}
