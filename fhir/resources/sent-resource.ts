import type { ClassKind } from '../../records/ehr-records/kind.ts'
import {
  missingProperties,
  ruleViolationsBesideSchema,
} from '../../records/ehr-records/validation/record-validation.ts'
import { valueAt } from '../../records/fhir/element-paths.ts'
import {
  elementPathOf,
  type FhirMapping,
  type FhirResource,
  type FieldValues,
  mappedFields,
  readElements,
} from '../../records/fhir/mapping.ts'
import { unkeptPaths } from '../../records/fhir/unkept-elements.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { toClassForm } from '../../schemas/forms/class-form.ts'
import { markedFieldNames } from '../../schemas/forms/fields.ts'
import type { Violation } from '../../schemas/validation/violations.ts'
import { renderRecord, type StoredRecord } from './render.ts'

const pick = (values: FieldValues, has: (name: string) => boolean): FieldValues =>
  Object.fromEntries(Object.entries(values).filter(([name, value]) => has(name) && value !== undefined))

/** The fields that a resource states; `status` ACTIVE is implied for a new record. */
export const fieldsOf = (mapping: FhirMapping, resource: FhirResource): FieldValues =>
  pick(readElements(mapping, resource), () => true)

/** The fields of a changed record: those of the resource, and those that FHIR does not show. */
export function mergeFields(mapping: FhirMapping, now: FieldValues, resource: FhirResource): FieldValues {
  const shown = mappedFields(mapping)
  return { ...pick(now, (name) => !shown.includes(name)), ...fieldsOf(mapping, resource) }
}

/** The violations of a record's fields by schema and rules, with the paths of the fields. */
function fieldViolations(kind: ClassKind, values: FieldValues): Violation[] {
  const { create, update, fields, checks } = kind
  const closing = markedFieldNames(fields, 'closing')
  const first = pick(values, (name) => name in create.properties)
  const later = pick(values, (name) => closing.includes(name) && name in update.properties)
  const place = pick(values, (name) => name in kind.place)
  const bySchema = [
    ...checks.create({ ...place, ...toClassForm(fields, first) }),
    ...checks.update(toClassForm(fields, later)),
  ].map((one) => ({ ...one, path: one.path.replace(/\.iso$/, '') }))
  return [...bySchema, ...ruleViolationsBesideSchema(kind, first, bySchema)]
}

/** Paths of the resource that clients must send and have not. */
const missingElements = ({ type, required }: FhirMapping, resource: FhirResource): Violation[] =>
  required
    .filter((path) => valueAt(resource, path) === undefined)
    .map((path) => ({ path: `${type}.${path}`, code: 'required', message: 'is required' }))

/** Elements that the service sets, or generates from the others. */
const SERVICE_ELEMENTS = ['resourceType', 'id', 'meta', 'text', 'implicitRules', 'language']

function unkeptElements(mapping: FhirMapping, resource: FhirResource, record: StoredRecord): string[] {
  const shown = renderRecord(mapping, record)
  const accepted = Object.assign({}, ...mapping.elements.map((element) => element.accepted ?? {}))
  const sent = Object.entries(resource).filter(([name]) => !SERVICE_ELEMENTS.includes(name))
  const { profile = [] } = (resource.meta ?? {}) as { profile?: unknown[] }
  const profiles = Array.isArray(profile) ? profile : []
  return [
    ...sent.flatMap(([name, value]) =>
      unkeptPaths(value, shown[name], `${mapping.type}.${name}`, { accepted }),
    ),
    ...profiles.flatMap((one, i) => (one === mapping.profile ? [] : [`${mapping.type}.meta.profile[${i}]`])),
  ]
}

const unkeptViolation = (path: string): Violation => ({
  path,
  code: 'not-supported',
  message: 'is not kept by this service. Leave it out, or send Prefer: handling=lenient',
})

/**
 * Checks a sent resource: required elements, schema, rules, and that nothing of it would be lost.
 * @param values the fields of the record that would be stored
 * @param onUnkept receives the paths of what is not kept; without it, that is a violation
 * @throws RuleViolated
 */
export function requireValidResource(
  kind: ClassKind & { fhir: FhirMapping },
  resource: FhirResource,
  values: FieldValues,
  id: string,
  onUnkept: ((paths: readonly string[]) => void) | undefined,
): void {
  const { fhir: mapping } = kind
  const missing = missingElements(mapping, resource)
  const names = new Set(missing.map(({ path }) => path))
  const invalid = fieldViolations(kind, values)
    .map((one) => ({ ...one, path: elementPathOf(mapping, one.path) }))
    .filter(({ path }) => !names.has(path))
  const record = { ...values, ...kind.rules.derived?.(values), id, version: 1, createdAt: '', updatedAt: '' }
  const faults = [...missing, ...invalid]
  const unkept = unkeptElements(mapping, resource, record).filter(
    (path) => !faults.some((fault) => fault.path.startsWith(path) || path.startsWith(fault.path)),
  )
  if (unkept.length > 0) onUnkept?.(unkept)
  const violations = [...faults, ...(onUnkept ? [] : unkept.map(unkeptViolation))]
  if (violations.length > 0) throw new ServiceError('RuleViolated', { violations: uniqueByPath(violations) })
}

const uniqueByPath = (violations: readonly Violation[]): Violation[] => [
  ...new Map(violations.map((one) => [`${one.path} ${one.code}`, one])).values(),
]

/** Names of required fields that a changed record would lack. */
export const missingFieldNames = ({ create }: ClassKind, values: FieldValues): string[] =>
  missingProperties(create.required, values)
