import { choiceViolation, type Violation } from '../../schemas/validation/violations.ts'
import { type FhirJson, joinElements } from './element-paths.ts'
import type { FhirCoding } from './elements.ts'
import type { FhirElement, FieldValues } from './fhir-element.ts'
import type { FhirSearchParameter } from './search/search-parameters.ts'

/** A resource of FHIR R4 in JSON. */
export interface FhirResource {
  resourceType: string
  id?: string
  [element: string]: unknown
}

/** A resource that shows a part of a record, in addition to the resource of the record itself. */
export interface FhirPart {
  profile?: string
  /** Each of these resources has one of these codes. */
  codes?: readonly FhirCoding[]
  elements: readonly FhirElement[]
  search: Readonly<Record<string, FhirSearchParameter>>
  /** The conditions of records that have this part. */
  where: Readonly<Record<string, unknown>>
  isIn(record: FieldValues): boolean
}

/** The mapping of a kind's records to FHIR R4. */
export interface FhirMapping {
  /** The resource type. */
  type: string
  /** The profile that the resources claim. */
  profile?: string
  /** Each resource has one of these codes. */
  codes?: readonly FhirCoding[]
  elements: readonly FhirElement[]
  /** Paths of elements that a client must send. */
  required: readonly string[]
  search: Readonly<Record<string, FhirSearchParameter>>
  /** The search parameter by whose field the kind's list of an EHR is sorted, if there is one. */
  sortedBy?: string
  /** The list of the kind in which an EHR is searched; default: `ofEhr`. */
  list?: string
  /** Fields that former versions do not show, because their author may have withdrawn them. */
  onlyInPresent?: readonly string[]
  /** Whether a client means this kind, if several have the same type. */
  isMeant?(resource: FhirJson): boolean
  /** Further resources by the suffix of their ids: `<id>.hr`. */
  parts?: Readonly<Record<string, FhirPart>>
}

/** A kind in FHIR: by a mapping, in another way by a resource type, or not at all for a reason. */
export type FhirForm = FhirMapping | { shownAs: string } | { absent: string }

export const isMapped = (form: FhirForm | undefined): form is FhirMapping =>
  form !== undefined && 'elements' in form

/** What a former version of a record shows. */
export const formerFieldsOf = (
  { onlyInPresent = [] }: Pick<FhirMapping, 'onlyInPresent'>,
  record: object,
): object => Object.fromEntries(Object.entries(record).filter(([name]) => !onlyInPresent.includes(name)))

/** The elements of a record, without id and metadata. @param links elements to join to them */
export const showElements = (
  { elements }: Pick<FhirMapping, 'elements'>,
  record: FieldValues,
  links: FhirJson = {},
): FhirJson => joinElements([...elements.map((element) => element.show(record)), links])

/** The fields that a resource states; those that it does not state are undefined. */
export const readElements = ({ elements }: Pick<FhirMapping, 'elements'>, resource: FhirJson): FieldValues =>
  Object.assign({}, ...elements.map((element) => element.read(resource)))

/** The names of the fields that the elements show and read. */
export const mappedFields = ({ elements }: Pick<FhirMapping, 'elements'>): string[] =>
  elements.flatMap(({ paths }) => Object.keys(paths))

/** The FHIRPath of a violation whose path names a field: `onset` -> `Condition.onsetDateTime`. */
export function elementPathOf({ type, elements }: FhirMapping, fieldPath: string): string {
  const whole = elements.find(({ paths }) => Object.hasOwn(paths, fieldPath))
  const [field = '', ...rest] = whole ? [fieldPath] : fieldPath.split('.')
  const path = (whole ?? elements.find(({ paths }) => Object.hasOwn(paths, field)))?.paths[field]
  const below = rest.map((key) => (/^\d+$/.test(key) ? `[${key}]` : `.${key}`)).join('')
  return path === undefined ? type : `${type}.${path}${below}`
}

/** A violation at the element of its field. Its message names codes of FHIR, and a field that no element expresses. */
export function locateAtElement(mapping: FhirMapping, violation: Violation): Violation {
  const path = elementPathOf(mapping, violation.path)
  const codes = mapping.elements.flatMap((element) => element.codes?.[violation.path] ?? [])
  if (violation.code === 'enum' && codes.length > 0) return choiceViolation(path, [...new Set(codes)])
  const element = mapping.elements.find(({ paths }) => Object.hasOwn(paths, violation.path))
  const message = element?.rephrase?.(violation.message) ?? violation.message
  if (path !== mapping.type || violation.path === '') return { ...violation, path, message }
  return { ...violation, path, message: `has no element for ${violation.path}, which ${violation.message}` }
}
