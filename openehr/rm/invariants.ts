import { OPENEHR_CODE_SETS, type OpenehrGroup, openehrCodesOf } from '../../schemas/openehr/openehr-codes.ts'
import { findRmClass, rmClassNames } from '../../schemas/openehr/rm-classes.ts'
import { lookUp } from '../../schemas/validation/look-up.ts'
import type { Violation } from '../../schemas/validation/violations.ts'
import { magnitudeOf } from './values/magnitude.ts'

/** An object of the model: its attributes as far as they could be read. */
interface Instance {
  readonly _type: string
  readonly [attribute: string]: unknown
}

type SentMembers = Readonly<Record<string, unknown>>

/** @param sentMembers shows which attributes are there, also those that could not be read */
type Invariant = (object: Instance, sentMembers: SentMembers) => Violation | undefined

export const isMissingOrEmpty = (value: unknown): boolean =>
  value === null || value === undefined || (Array.isArray(value) && value.length === 0)

const has = (sentMembers: SentMembers, attribute: string): boolean =>
  !isMissingOrEmpty(sentMembers[attribute])

/** A rule of the model with its name there. */
const invariant =
  (
    rule: string,
    path: string,
    code: string,
    message: string,
    isBroken: (object: Instance, sentMembers: SentMembers) => boolean,
  ): Invariant =>
  (object, sentMembers) =>
    isBroken(object, sentMembers) ? { path, code, message: `${message} (rule ${rule})` } : undefined

/** The code of a DV_CODED_TEXT or a CODE_PHRASE must be in a list. Codes of other terminologies are not checked. */
const codeInvariant =
  (attribute: string, terminology: string, codes: readonly string[]): Invariant =>
  (object) => {
    const value = object[attribute] as Instance | undefined
    const phrase = (value?._type === 'DV_CODED_TEXT' ? value.defining_code : value) as Instance | undefined
    const { terminology_id, code_string } = (phrase ?? {}) as Partial<Instance>
    if ((terminology_id as Instance | undefined)?.value !== terminology) return undefined
    if (codes.includes(String(code_string))) return undefined
    const path = `${attribute}.${value === phrase ? '' : 'defining_code.'}code_string`
    return { path, code: 'code', message: `must be one of ${codes.join(', ')}` }
  }

const groupInvariant = (attribute: string, group: OpenehrGroup): Invariant =>
  codeInvariant(attribute, 'openehr', openehrCodesOf(group))

const codeSetInvariant = (attribute: string, set: keyof typeof OPENEHR_CODE_SETS): Invariant =>
  codeInvariant(attribute, set, OPENEHR_CODE_SETS[set])

/** The attribute in which two values of one class differ although only equal ones can be compared. */
export function incomparableAttribute(one: Instance, other: Instance): string | undefined {
  const attribute = lookUp({ DV_QUANTITY: 'units', DV_PROPORTION: 'type' }, one._type)
  return attribute !== undefined && one[attribute] !== other[attribute] ? attribute : undefined
}

/** Whether a value is within a range; undefined if they cannot be compared. */
function isWithin(value: Instance, range: Instance): boolean | undefined {
  const magnitude = magnitudeOf(value)
  const ends = [range.lower, range.upper] as (Instance | undefined)[]
  const [lower, upper] = ends.map((end) => end && magnitudeOf(end))
  const isComparable = ends.every(
    (end) => !end || (end._type === value._type && !incomparableAttribute(value, end)),
  )
  if (magnitude === undefined || !isComparable) return undefined
  if (lower !== undefined && (magnitude < lower || (magnitude === lower && !range.lower_included)))
    return false
  return !(upper !== undefined && (magnitude > upper || (magnitude === upper && !range.upper_included)))
}

function contradictsNormalRange(object: Instance): boolean {
  const { normal_range, normal_status } = object as { normal_range?: Instance; normal_status?: Instance }
  const terminology = normal_status?.terminology_id as Instance | undefined
  if (!normal_range || terminology?.value !== 'openehr_normal_statuses') return false
  const isNormal = isWithin(object, normal_range)
  return isNormal !== undefined && isNormal !== (normal_status?.code_string === 'N')
}

const isInteger = Number.isInteger

/** Whether a bound of a range has reference ranges of its own. */
const hasRanges = (value: unknown): boolean => {
  const { normal_range, other_reference_ranges } = (value ?? {}) as Partial<Instance>
  return normal_range !== undefined || other_reference_ranges !== undefined
}

const hasCluster = (row: unknown): boolean =>
  ((row as Instance | undefined)?.items as Instance[] | undefined)?.some((one) => one?._type === 'CLUSTER') ??
  false

const denominator = (rule: string, message: string, isBroken: (object: Instance) => boolean): Invariant =>
  invariant(`${rule} of DV_PROPORTION`, 'denominator', 'range', message, isBroken)

/** The invariants of the reference model 1.1.0, by class; those of a class hold for its descendants, too. */
const INVARIANTS: Readonly<Record<string, readonly Invariant[]>> = {
  COMPOSITION: [groupInvariant('category', 'composition category')],
  EVENT_CONTEXT: [groupInvariant('setting', 'setting')],
  INTERVAL_EVENT: [groupInvariant('math_function', 'event math function')],
  ISM_TRANSITION: [
    groupInvariant('current_state', 'instruction states'),
    groupInvariant('transition', 'instruction transitions'),
  ],
  PARTY_RELATED: [groupInvariant('relationship', 'subject relationship')],
  PARTICIPATION: [
    groupInvariant('function', 'participation function'),
    groupInvariant('mode', 'participation mode'),
  ],
  TERM_MAPPING: [groupInvariant('purpose', 'term mapping purpose')],
  PARTY_IDENTIFIED: [
    invariant(
      'Basic_validity of PARTY_IDENTIFIED',
      '',
      'required',
      'must have a name, identifiers or an external_ref',
      (_, sentMembers) => !['name', 'identifiers', 'external_ref'].some((one) => has(sentMembers, one)),
    ),
  ],
  ELEMENT: [
    groupInvariant('null_flavour', 'null flavours'),
    invariant(
      'Inv_null_flavour_indicated of ELEMENT',
      'null_flavour',
      'nullFlavour',
      'must be left out if there is a value',
      // An element with neither is accepted, since programs in use send it.
      (_, sentMembers) => has(sentMembers, 'value') && has(sentMembers, 'null_flavour'),
    ),
    invariant(
      'Inv_null_reason_valid of ELEMENT',
      'null_reason',
      'nullFlavour',
      'must be left out if there is a value',
      (_, sentMembers) => has(sentMembers, 'value') && has(sentMembers, 'null_reason'),
    ),
  ],
  HISTORY: [
    invariant(
      'Events_valid of HISTORY',
      'events',
      'required',
      'must have a member unless there is a summary',
      (_, sentMembers) => !has(sentMembers, 'events') && !has(sentMembers, 'summary'),
    ),
  ],
  ITEM_TABLE: [
    invariant(
      'Valid_structure of ITEM_TABLE',
      'rows',
      'type',
      'must have rows of ELEMENTs',
      ({ rows }) => Array.isArray(rows) && rows.some(hasCluster),
    ),
  ],
  DV_ORDERED: [
    codeSetInvariant('normal_status', 'openehr_normal_statuses'),
    invariant(
      'Normal_range_and_status_consistency of DV_ORDERED',
      'normal_status',
      'consistent',
      'must be N if the value is within normal_range, and another status if it is not',
      contradictsNormalRange,
    ),
  ],
  REFERENCE_RANGE: [
    invariant(
      'Range_is_simple of REFERENCE_RANGE',
      'range',
      'simple',
      'must have ends without reference ranges',
      ({ range }) => [(range as Instance)?.lower, (range as Instance)?.upper].some(hasRanges),
    ),
  ],
  DV_AMOUNT: [
    invariant(
      'Accuracy_validity of DV_AMOUNT',
      'accuracy',
      'range',
      'must be from 0 to 100 if it is a percentage',
      ({ accuracy, accuracy_is_percent: isPercent }) =>
        isPercent === true && (Number(accuracy) < 0 || Number(accuracy) > 100),
    ),
    invariant(
      'Accuracy_is_percent_validity of DV_AMOUNT',
      'accuracy_is_percent',
      'value',
      'must be false if accuracy is 0',
      ({ accuracy, accuracy_is_percent: isPercent }) => isPercent === true && accuracy === 0,
    ),
  ],
  DV_QUANTITY: [
    invariant(
      'Precision_valid of DV_QUANTITY',
      'precision',
      'range',
      'must be at least -1',
      ({ precision }) => Number(precision) < -1,
    ),
  ],
  // The types of a proportion: 0 ratio, 1 unitary, 2 percent, 3 fraction, 4 integer fraction.
  DV_PROPORTION: [
    denominator('Valid_denominator', 'must not be 0', (object) => object.denominator === 0),
    denominator(
      'Unitary_validity',
      'must be 1 in a unitary proportion',
      (object) => object.type === 1 && object.denominator !== 1,
    ),
    denominator(
      'Percent_validity',
      'must be 100 in a percentage',
      (object) => object.type === 2 && object.denominator !== 100,
    ),
    invariant(
      'Fraction_validity of DV_PROPORTION',
      'numerator',
      'range',
      'must be a whole number in a fraction',
      (object) =>
        (object.type === 3 || object.type === 4) &&
        !(isInteger(object.numerator) && isInteger(object.denominator)),
    ),
    invariant(
      'Precision_validity of DV_PROPORTION',
      'precision',
      'range',
      'must not be 0 unless numerator and denominator are whole numbers',
      (object) => object.precision === 0 && !(isInteger(object.numerator) && isInteger(object.denominator)),
    ),
  ],
  DV_MULTIMEDIA: [
    codeSetInvariant('compression_algorithm', 'openehr_compression_algorithms'),
    codeSetInvariant('integrity_check_algorithm', 'openehr_integrity_check_algorithms'),
    invariant(
      'Not_empty of DV_MULTIMEDIA',
      '',
      'notEmpty',
      'must have data or a uri',
      ({ data, uri }) => !data && uri === undefined,
    ),
    invariant(
      'Size_valid of DV_MULTIMEDIA',
      'size',
      'range',
      'must not be negative',
      ({ size }) => Number(size) < 0,
    ),
    invariant(
      'Integrity_check_validity of DV_MULTIMEDIA',
      'integrity_check_algorithm',
      'required',
      'is required together with integrity_check',
      (_, sentMembers) =>
        has(sentMembers, 'integrity_check') && !has(sentMembers, 'integrity_check_algorithm'),
    ),
  ],
  DV_PERIODIC_TIME_SPECIFICATION: [
    invariant(
      'Value_valid of DV_PERIODIC_TIME_SPECIFICATION',
      'value.formalism',
      'value',
      'must be HL7:PIVL or HL7:EIVL',
      ({ value }) =>
        value !== undefined && !['HL7:PIVL', 'HL7:EIVL'].includes(String((value as Instance).formalism)),
    ),
  ],
}

/** The invariants of each class that has some, with those of its ancestors. */
const invariantsByClass: ReadonlyMap<string, readonly Invariant[]> = new Map(
  rmClassNames.flatMap((name) => {
    const invariants = [...(findRmClass(name)?.isA ?? [])].flatMap((one) => lookUp(INVARIANTS, one) ?? [])
    return invariants.length > 0 ? [[name, invariants]] : []
  }),
)

/** The invariants of its class that an object breaks, with paths within the object. */
export const invariantViolations = (object: Instance, sentMembers: SentMembers): Violation[] =>
  (invariantsByClass.get(object._type) ?? []).flatMap((check) => check(object, sentMembers) ?? [])
