import { runAtOnce, type Steps } from '../../records/limits/time-slice.ts'
import { withArticle } from '../../schemas/common.ts'
import {
  findRmClass,
  isSubclassOf,
  type RmAttribute,
  type RmClass,
} from '../../schemas/openehr/rm-classes.ts'
import { lookUp } from '../../schemas/validation/look-up.ts'
import type { Violation } from '../../schemas/validation/violations.ts'
import { incomparableAttribute, invariantViolations, isMissingOrEmpty } from './invariants.ts'
import { primitiveReaders } from './primitives.ts'
import { magnitudeOf } from './values/magnitude.ts'

/** An object of the reference model in canonical JSON, with every `_type`. */
export interface RmObject {
  _type: string
  [attribute: string]: unknown
}

export const isRmObject = (value: unknown): value is RmObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Collects violations with their paths, as many as one response shows. */
export class ViolationList {
  readonly found: Violation[] = []

  get isFull(): boolean {
    return this.found.length >= MAX_VIOLATIONS
  }

  add(path: string, code: string, message: string): undefined {
    this.addAll([{ path, code, message }])
  }

  addAll(violations: readonly Violation[]): undefined {
    for (const one of violations) if (!this.isFull) this.found.push(one)
  }
}

/** Limit for the violations in one response. */
export const MAX_VIOLATIONS = 500

/** Maximum length of a member name that a response repeats. */
const MAX_SHOWN_NAME_LENGTH = 60

/**
 * Reads canonical JSON as a class of the reference model. Adds missing types where they can be inferred,
 * converts numbers in texts, and removes null and empty values.
 */
export function* readCanonicalJsonInSteps(
  json: unknown,
  type: string,
): Steps<{ object: RmObject | undefined; violations: Violation[] }> {
  const faults = new ViolationList()
  const object = yield* readObject(json, type, '', faults)
  return { object, violations: faults.found }
}

/** Reads a small object at once. */
export const readCanonicalJson = (json: unknown, type: string) =>
  runAtOnce(readCanonicalJsonInSteps(json, type))

const joinPath = (path: string, name: string | number): string =>
  path === '' || name === '' ? `${path}${name}` : `${path}.${name}`

function* readObject(
  json: unknown,
  declaredType: string,
  path: string,
  faults: ViolationList,
): Steps<RmObject | undefined> {
  yield
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    return faults.add(path, 'type', `must be an object, a ${declaredType}`)
  const members = json as Record<string, unknown>
  const rm = determineClass(members, declaredType, path, faults)
  if (rm === undefined) return undefined
  const object: RmObject = { _type: rm.name }
  for (const attribute of rm.attributes.values()) {
    const givenValue = members[attribute.name]
    // Skips missing attributes early, because most attributes of a class are missing.
    if (isMissingOrEmpty(givenValue) && !attribute.mandatory) continue
    const value = yield* readAttribute(givenValue, attribute, joinPath(path, attribute.name), faults)
    if (value !== undefined) object[attribute.name] = value
  }
  for (const name of Object.keys(members))
    if (
      name !== '_type' &&
      !rm.attributes.has(name) &&
      !isMissingOrEmpty(members[name]) &&
      !isIgnoredAttribute(rm, name)
    )
      faults.add(
        joinPath(path, name.slice(0, MAX_SHOWN_NAME_LENGTH)),
        'unknown',
        `is not an attribute of ${rm.name}`,
      )
  if (rm.name === 'DV_INTERVAL') return completeInterval(object, path, faults)
  for (const broken of invariantViolations(object, members))
    faults.add(joinPath(path, broken.path), broken.code, broken.message)
  return object
}

/** Attributes that clients of another server send in the wrong place; they are ignored. */
const IGNORED_ATTRIBUTES: readonly [className: string, attribute: string][] = [
  ['LOCATABLE', 'feeder_system_audit'],
  ['DV_CODED_TEXT', 'type'],
]

const isIgnoredAttribute = (rm: RmClass, name: string): boolean =>
  IGNORED_ATTRIBUTES.some(([className, attribute]) => attribute === name && rm.isA.has(className))

function determineClass(
  members: Record<string, unknown>,
  declaredType: string,
  path: string,
  faults: ViolationList,
): RmClass | undefined {
  const typeName = members._type ?? inferClass(members, declaredType)
  const rm = typeof typeName === 'string' ? findRmClass(typeName) : undefined
  if (rm === undefined || rm.abstract) {
    const hasType = members._type !== undefined || findRmClass(declaredType)?.abstract !== true
    const message = hasType ? 'must be a class of the reference model' : 'is required'
    return faults.add(joinPath(path, '_type'), '_type', message)
  }
  if (!isSubclassOf(rm.name, declaredType))
    return faults.add(joinPath(path, '_type'), '_type', `must be ${withArticle(declaredType)}`)
  return rm
}

/** Infers the class of an object without `_type` from the declared type and its attributes. */
function inferClass(members: Record<string, unknown>, declaredType: string): string {
  switch (declaredType) {
    case 'DV_TEXT':
      return isMissingOrEmpty(members.defining_code) ? declaredType : 'DV_CODED_TEXT'
    case 'EVENT':
      return isMissingOrEmpty(members.width) ? 'POINT_EVENT' : 'INTERVAL_EVENT'
    case 'UID_BASED_ID':
      return String(members.value).includes('::') ? 'OBJECT_VERSION_ID' : 'HIER_OBJECT_ID'
    case 'OBJECT_ID':
      return isMissingOrEmpty(members.scheme) ? 'HIER_OBJECT_ID' : 'GENERIC_ID'
    case 'ITEM':
      return isMissingOrEmpty(members.items) ? 'ELEMENT' : 'CLUSTER'
    default:
      return declaredType
  }
}

function* readAttribute(
  value: unknown,
  attribute: RmAttribute,
  path: string,
  faults: ViolationList,
): Steps<unknown> {
  if (isMissingOrEmpty(value)) return faults.add(path, 'required', 'is required')
  if (!attribute.multiple) return yield* readValue(value, attribute.type, path, faults)
  if (!Array.isArray(value)) return faults.add(path, 'type', 'must be an array')
  const members: unknown[] = []
  for (const [i, member] of value.entries())
    members.push(yield* readValue(member, attribute.type, joinPath(path, i), faults))
  return members
}

function* readValue(value: unknown, type: string, path: string, faults: ViolationList): Steps<unknown> {
  const primitive = lookUp(primitiveReaders, type)
  if (primitive === undefined) return yield* readObject(value, type, path, faults)
  const read = primitive(value)
  return 'fault' in read ? faults.add(path, 'format', read.fault) : read.value
}

/** Missing flags of an interval's ends follow from the ends that are given. */
function completeInterval(interval: RmObject, path: string, faults: ViolationList): RmObject {
  const {
    lower,
    upper,
    lower_unbounded = !lower,
    upper_unbounded = !upper,
  } = interval as unknown as IntervalEnds
  const { lower_included = !lower_unbounded, upper_included = !upper_unbounded } =
    interval as unknown as IntervalEnds
  if (!lower && !lower_unbounded)
    faults.add(joinPath(path, 'lower'), 'required', 'is required unless lower_unbounded')
  if (!upper && !upper_unbounded)
    faults.add(joinPath(path, 'upper'), 'required', 'is required unless upper_unbounded')
  if (lower_unbounded && lower_included)
    faults.add(joinPath(path, 'lower_included'), 'value', 'must be false when there is no lower end')
  if (upper_unbounded && upper_included)
    faults.add(joinPath(path, 'upper_included'), 'value', 'must be false when there is no upper end')
  if (lower && upper) checkIntervalOrder(lower, upper, joinPath(path, 'upper'), faults)
  return {
    _type: interval._type,
    ...(lower && { lower }),
    ...(upper && { upper }),
    lower_included,
    upper_included,
    lower_unbounded,
    upper_unbounded,
  }
}

interface IntervalEnds {
  lower?: RmObject
  upper?: RmObject
  lower_included?: boolean
  upper_included?: boolean
  lower_unbounded?: boolean
  upper_unbounded?: boolean
}

function checkIntervalOrder(lower: RmObject, upper: RmObject, path: string, faults: ViolationList): void {
  if (lower._type !== upper._type)
    faults.add(path, 'type', `must be ${withArticle(String(lower._type))}, like lower`)
  else if (incomparableAttribute(lower, upper))
    faults.add(
      joinPath(path, incomparableAttribute(lower, upper) ?? ''),
      'comparable',
      'must be the same as that of lower (rule Limits_consistent of DV_INTERVAL)',
    )
  else if (Number(magnitudeOf(lower)) > Number(magnitudeOf(upper)))
    faults.add(path, 'order', 'must not be less than lower')
}
