import { isDeepStrictEqual } from 'node:util'
import type { ClassKind } from '../../records/ehr-records/kind.ts'
import { missingProperties } from '../../records/ehr-records/validation/record-validation.ts'
import { Decimal } from '../../records/fhir/decimal.ts'
import { droppedPaths } from '../../records/fhir/dropped-elements.ts'
import { elementAt, isElement, memberOf } from '../../records/fhir/element-paths.ts'
import type { FieldValues } from '../../records/fhir/fhir-element.ts'
import {
  type FhirMapping,
  type FhirResource,
  locateAtElement,
  mappedFields,
  readElements,
} from '../../records/fhir/mapping.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { toClassForm } from '../../schemas/forms/class-form.ts'
import { markedFieldNames } from '../../schemas/forms/fields.ts'
import { memoizeByObject } from '../../schemas/forms/memoize.ts'
import type { Decimals } from '../../schemas/json/decimals.ts'
import { invalidPropertyNames, type Violation } from '../../schemas/validation/violations.ts'
import { type RecordWithMetadata, renderRecord } from './render.ts'

function pick(values: FieldValues, has: (name: string) => boolean): FieldValues {
  const result: Record<string, unknown> = {}
  for (const name of Object.keys(values))
    if (values[name] !== undefined && has(name)) result[name] = values[name]
  return result
}

type KindFields = Pick<ClassKind, 'fields'> & { fhir: FhirMapping }

/**
 * Dates as the fields keep them: a day without the time that was sent, a time at the beginning of the day that was sent.
 * The comparison then finds that this is not what the client has sent.
 */
function dateOf(value: unknown, format: unknown): unknown {
  if (typeof value !== 'string') return value
  if (format === 'date') return value.replace(/^(\d{4}-\d\d-\d\d)T.*$/s, '$1')
  return format === 'date-time' ? value.replace(/^\d{4}-\d\d-\d\d$/, '$&T00:00:00.000Z') : value
}

/**
 * The fields that a resource states; `status` ACTIVE is implied for a new record. A number stays a decimal where it is
 * none: in a field for whole numbers, or in a kind that does not keep digits.
 */
export function fieldsOf({ fhir, fields }: KindFields, resource: FhirResource): FieldValues {
  const values: Record<string, unknown> = {}
  const decimals: Record<string, string> = {}
  for (const [name, value] of Object.entries(readElements(fhir, resource))) {
    if (value === undefined) continue
    const isNumber = value instanceof Decimal && 'decimals' in fields && fields[name]?.type === 'number'
    values[name] = isNumber ? value.number : dateOf(value, fields[name]?.format)
    if (isNumber && value.isKept) decimals[name] = value.text
  }
  return Object.keys(decimals).length > 0 ? { ...values, decimals } : values
}

/**
 * The fields of a changed record: those of the resource, those that FHIR does not show, such as empty texts, and a plan
 * that it must have.
 */
export function mergeFields(
  kind: ClassKind & KindFields,
  before: FieldValues,
  resource: FhirResource,
): FieldValues {
  const mappedNames = mappedFields(kind.fhir)
  const needsPlan = kind.parentType === 'plan' || kind.parentType === 'goal'
  const isKept = (name: string) =>
    !mappedNames.includes(name) || before[name] === '' || (needsPlan && name === 'carePlanId')
  const { decimals: sentDecimals, ...rest } = fieldsOf(kind, resource)
  const storedDecimals = pick((before.decimals ?? {}) as FieldValues, isKept)
  const isExact = before.decimals !== undefined || sentDecimals !== undefined
  return {
    ...pick(before, isKept),
    ...rest,
    ...(isExact && { decimals: { ...storedDecimals, ...(sentDecimals as Decimals | undefined) } }),
  }
}

/** The class family writes a time as an object, which clients of FHIR do not know. */
const inFhirTerms = (one: Violation, format: unknown): Violation =>
  one.message.includes('"__type"')
    ? {
        ...one,
        message:
          format === 'date'
            ? 'must be a full date, such as 2026-03-01: dates without a month or day are not supported'
            : 'must be a time with an offset from UTC, such as 2026-03-01T08:30:00Z',
      }
    : one

/** The violations of a record's fields by schema, with the paths of the fields. */
function schemaViolations(
  { create, update, fields, checks, parentIds }: ClassKind,
  values: FieldValues,
): Violation[] {
  const closing = markedFieldNames(fields, 'closing')
  const createdValues = pick(values, (name) => name in create.properties)
  const closingValues = pick(values, (name) => closing.includes(name) && name in update.properties)
  const parents = pick(values, (name) => name in parentIds)
  return [
    ...checks.create({ ...parents, ...toClassForm(fields, createdValues) }),
    ...(Object.keys(closingValues).length > 0 ? checks.update(toClassForm(fields, closingValues)) : []),
  ].map((one) => inFhirTerms({ ...one, path: one.path.replace(/\.iso$/, '') }, fields[one.path]?.format))
}

/**
 * The violations of the rules by the fields that match the schema, with the paths of the fields.
 * @param changedFields the names of the fields that the client changes
 */
function ruleViolations(
  { rules }: ClassKind,
  values: FieldValues,
  changedFields: readonly string[],
  bySchema: readonly Violation[],
): Violation[] {
  const faulty = invalidPropertyNames(bySchema)
  const sound = pick(values, (name) => !faulty.has(name))
  const missing = missingProperties(rules.missing?.(sound), sound).filter((name) => !faulty.has(name))
  return [
    ...missing.map((path) => ({ path, code: 'required', message: 'is required' })),
    ...rules.violations(sound, changedFields),
  ]
}

/** Paths of the resource that clients must send and have not. */
const missingElements = ({ type, required }: FhirMapping, resource: FhirResource): Violation[] =>
  required
    .filter((path) => elementAt(resource, path) === undefined)
    .map((path) => ({ path: `${type}.${path}`, code: 'required', message: 'is required' }))

/** Elements that the service sets. */
const SERVICE_ELEMENTS = ['resourceType', 'id']
const SERVICE_METADATA = ['versionId', 'lastUpdated']

/** The paths in `meta` and of the narrative that would be lost. A generated narrative says only what the elements say. */
function droppedHeaders(
  { meta, text, resourceType }: FhirResource,
  ownProfile: string | undefined,
): string[] {
  const headers = Object.entries(isElement(meta) ? meta : {}).flatMap(([name, value]) => {
    const path = `${resourceType}.meta.${name}`
    if (SERVICE_METADATA.includes(name)) return []
    if (!Array.isArray(value)) return [path]
    return value.flatMap((one, i) => (name === 'profile' && one === ownProfile ? [] : [`${path}[${i}]`]))
  })
  return memberOf(text, 'status') === 'additional' ? [...headers, `${resourceType}.text`] : headers
}

/** Elements that change the meaning or the subject of others: without one of them, a wrong statement would look like a fact. */
const MODIFIER =
  /^\w+\.(status|intent|clinicalStatus|verificationStatus|lifecycleStatus|(component\.)?valueQuantity\.(system|code|unit)|(subject|patient|for)(\.reference)?)$|\.(implicitRules|modifierExtension|comparator|isSubpotent|doNotPerform)$/

const isModifier = (path: string): boolean => MODIFIER.test(path.replace(/\[\d+\]/g, ''))

interface ComparisonOptions {
  /** Equivalent values by path without positions. */
  accepted?: Readonly<Record<string, readonly unknown[]>>
  /** Elements that the service ignores. */
  ignored?: readonly string[]
  profile?: string | undefined
}

/** The paths that a sent resource has and the shown one lacks, so that their values would be lost. */
export function droppedElements(
  resource: FhirResource,
  storedResource: FhirResource,
  { accepted = {}, ignored = [], profile: ownProfile }: ComparisonOptions,
): string[] {
  const { resourceType: type } = storedResource
  const excludedNames = [...SERVICE_ELEMENTS, 'meta', 'text', ...ignored]
  const elements = Object.entries(resource).filter(([name]) => !excludedNames.includes(name))
  return [
    ...elements.flatMap(([name, value]) =>
      droppedPaths(value, memberOf(storedResource, name), `${type}.${name}`, { accepted }),
    ),
    ...droppedHeaders(resource, ownProfile),
  ]
}

const comparisonOf = memoizeByObject(
  ({ elements, profile }: FhirMapping): ComparisonOptions => ({
    accepted: Object.assign({}, ...elements.map(({ accepted }) => accepted ?? {})),
    ignored: elements.flatMap(({ ignored }) => ignored ?? []),
    profile,
  }),
)

const derivedPaths = memoizeByObject(({ elements }: FhirMapping) =>
  elements.flatMap(({ derived }) => derived ?? []),
)

/** The values of derived elements before a write, by path without positions. */
function derivedBefore(mapping: FhirMapping, before: RecordWithMetadata | undefined) {
  const paths = before ? derivedPaths(mapping) : []
  if (!before || paths.length === 0) return {}
  const resource = renderRecord(mapping, before)
  return Object.fromEntries(paths.map((path) => [withoutPositions(path), [elementAt(resource, path)]]))
}

/** Metadata of a record that is not stored yet. */
const NO_METADATA = { version: 1, createdAt: '', updatedAt: '' }

/** `component[0].valueQuantity` and `component.where(…).valueQuantity` are the same element. */
const withoutPositions = (path: string): string => path.replace(/\[\d+\]|\.where\([^()]*\)/g, '')

const droppedElementViolation = (path: string): Violation => ({
  path,
  code: 'not-supported',
  message: isModifier(path)
    ? 'is not kept by this service, and changes the meaning of the resource'
    : /\.meta\.profile\[\d+\]$/.test(path)
      ? 'is not a profile that this service supports for the resource. Leave it out'
      : 'is not kept by this service. Leave it out, or send Prefer: handling=lenient',
})

interface ResourceCheck {
  id: string
  /** The names of the fields that the client changes. */
  changedFields: readonly string[]
  /** The record before an update. */
  before?: FieldValues
  /** Receives the paths that are dropped; without it, they are violations. */
  onDropped: ((paths: readonly string[]) => void) | undefined
}

/**
 * Checks a sent resource: required elements, schema, and that nothing in it would be lost. The write checks the rules,
 * so that a resource with other faults gets them here, all at once.
 * @param values the fields of the record that would be stored
 * @throws RuleViolated
 */
export function requireValidResource(
  kind: ClassKind & { fhir: FhirMapping },
  resource: FhirResource,
  values: FieldValues,
  { id, changedFields, before, onDropped }: ResourceCheck,
): void {
  const { fhir: mapping } = kind
  const missing = missingElements(mapping, resource)
  const bySchema = schemaViolations(kind, values)
  const record = { ...NO_METADATA, ...values, id }
  const comparison = comparisonOf(mapping)
  const accepted = {
    ...comparison.accepted,
    ...derivedBefore(mapping, before && { ...NO_METADATA, ...before, id }),
  }
  const droppedElementsOf = (one: RecordWithMetadata) =>
    droppedElements(resource, renderRecord(mapping, one), { ...comparison, accepted })
  const lostElements = droppedElementsOf(record)
  if (missing.length + bySchema.length + lostElements.length === 0) return
  const names = new Set(missing.map(({ path }) => path))
  const violations = [...bySchema, ...ruleViolations(kind, values, changedFields, bySchema)]
  const invalid = violations
    .map((one) => locateAtElement(mapping, one))
    .filter(({ path }) => !names.has(path))
  // Few clients send derived values, and it takes time to derive them. No rule can derive them from faulty ones.
  const { derived } = kind.rules
  const faulty = invalidPropertyNames(violations)
  const lostPaths =
    lostElements.length > 0 && derived
      ? droppedElementsOf({ ...record, ...derived(pick(values, (name) => !faulty.has(name))) })
      : lostElements
  refuseFaults([...missing, ...invalid], lostPaths, onDropped)
}

/**
 * Refuses a resource for its faults, and for other elements that would be lost, unless the client accepts the loss and
 * the rest means the same.
 * @throws RuleViolated
 */
export function refuseFaults(
  faults: readonly Violation[],
  lostPaths: readonly string[],
  onDropped: ResourceCheck['onDropped'],
): void {
  const faulty = faults.map(({ path }) => withoutPositions(path))
  const unreported = lostPaths.filter((path) => {
    const element = withoutPositions(path)
    return !faulty.some((fault) => fault.startsWith(element) || element.startsWith(fault))
  })
  const warnings = onDropped ? unreported.filter((path) => !isModifier(path)) : []
  if (warnings.length > 0) onDropped?.(warnings)
  const errorPaths = unreported.filter((path) => !warnings.includes(path))
  const violations = [...faults, ...errorPaths.map(droppedElementViolation)]
  if (violations.length > 0) throw new ServiceError('RuleViolated', { violations: uniqueByPath(violations) })
}

const uniqueByPath = (violations: readonly Violation[]): Violation[] => [
  ...new Map(violations.map((one) => [`${one.path} ${one.code}`, one])).values(),
]

/** The names of the fields that differ between two records. */
export const changedNames = (before: FieldValues, after: FieldValues): string[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => !isDeepStrictEqual(before[name], after[name]),
  )

/** The contents of a plan, goal or task are deleted by a job of their own. */
export const deletionInTransactionError = (type: string) =>
  new ServiceError('RuleViolated', {
    violations: [
      { path: type, code: 'not-supported', message: 'cannot be deleted in a transaction. Delete it alone' },
    ],
  })
