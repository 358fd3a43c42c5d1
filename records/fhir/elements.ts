import { parseIsoTime } from '../../schemas/time/iso-time.ts'
import { elementAt, elementWith, type FhirJson, joinElements } from './element-paths.ts'
import type { FhirElement } from './fhir-element.ts'

/** URIs of our own code systems, extensions and identifiers. They never change, unlike the service's address. */
export const ownUri = (name: string): string => `urn:health-record-service:${name}`

export const TERMINOLOGY = 'http://terminology.hl7.org/CodeSystem'
export const STRUCTURES = 'http://hl7.org/fhir/StructureDefinition'

export interface FhirCoding {
  system: string
  code: string
  display?: string
}

/** A field as one value at a path. */
export const valueElement = (field: string, path: string): FhirElement => ({
  paths: { [field]: path },
  show: (record) => (record[field] === undefined ? {} : elementWith(path, record[field])),
  read: (resource) => ({ [field]: elementAt(resource, path) }),
})

/** Several fields as the members of one item of a list: `itemElement('dosage', [valueElement('dosage', 'text')])`. */
export const itemElement = (path: string, members: readonly FhirElement[]): FhirElement => ({
  paths: Object.fromEntries(
    members.flatMap(({ paths }) =>
      Object.entries(paths).map(([field, below]) => [field, `${path}[0].${below}`]),
    ),
  ),
  show: (record) => {
    const item = joinElements(members.map((member) => member.show(record)))
    return Object.keys(item).length === 0 ? {} : elementWith(`${path}[0]`, item)
  },
  read: (resource) => {
    const item = itemsAt(resource, path)[0] ?? {}
    return Object.assign({}, ...members.map((member) => member.read(item)))
  },
})

/** What stands in place of a required element whose value nobody knows. */
export const UNKNOWN_VALUE = {
  extension: [{ url: `${STRUCTURES}/data-absent-reason`, valueCode: 'unknown' }],
}

/** A name in the words of its author, which the first code may explain instead. */
export const conceptTextElement = (field: string, path: string): FhirElement => ({
  ...valueElement(field, `${path}.text`),
  read: (resource) => ({
    [field]: elementAt(resource, `${path}.text`) ?? elementAt(resource, `${path}.coding[0].display`),
  }),
})

/** The moment in UTC of a time with an offset; a day alone, or anything else, stays as sent. */
export const momentOf = (sent: unknown): unknown =>
  (typeof sent === 'string' && sent.includes('T') && parseIsoTime(sent)?.utc) || sent

/** A field with a moment. */
export const momentElement = (field: string, path: string): FhirElement => ({
  ...valueElement(field, path),
  read: (resource) => ({ [field]: momentOf(elementAt(resource, path)) }),
})

/** An element with the same value in every resource of the kind. */
export const constantElement = (
  path: string,
  value: unknown,
  accepted?: readonly unknown[],
): FhirElement => ({
  paths: {},
  show: () => elementWith(path, value),
  read: () => ({}),
  ...(accepted && { accepted: { [path]: accepted } }),
})

/** A field whose words are codes of the specification: `{ ACTIVE: 'active' }`. */
export function codeElement(
  field: string,
  path: string,
  codes: Readonly<Record<string, string>>,
): FhirElement {
  const words = new Map(Object.entries(codes).map(([word, code]) => [code, word]))
  return {
    paths: { [field]: path },
    show: (record) => {
      const code = codes[String(record[field])]
      return code === undefined ? {} : elementWith(path, code)
    },
    read: (resource) => {
      const code = elementAt(resource, path)
      return { [field]: words.get(code as string) ?? code }
    },
  }
}

const itemsAt = (resource: FhirJson, path: string): readonly FhirJson[] => {
  const items = elementAt(resource, path)
  return Array.isArray(items) ? items.filter((one) => typeof one === 'object' && one !== null) : []
}

/**
 * A field whose words are codes of one code system, as a CodeableConcept.
 * @param codes the codes of the words; by default the words themselves
 */
export function conceptElement(
  field: string,
  path: string,
  system: string,
  codes: Readonly<Record<string, string>> = {},
): FhirElement {
  const words = new Map(Object.entries(codes).map(([word, code]) => [code, word]))
  return {
    paths: { [field]: path },
    show: (record) => {
      const word = record[field] as string | undefined
      return word === undefined ? {} : elementWith(path, { coding: [{ system, code: codes[word] ?? word }] })
    },
    read: (resource) => {
      const code = itemsAt(resource, `${path}.coding`).find((one) => one.system === system)?.code
      return { [field]: words.get(code as string) ?? code }
    },
  }
}

/** A field with a code of any code system: `{ system, code }`. */
export const codingElement = (field: string, path: string): FhirElement => ({
  paths: { [field]: `${path}.coding[0]` },
  show: (record) => (record[field] === undefined ? {} : elementWith(`${path}.coding[0]`, record[field])),
  read: (resource) => {
    const { system, code } = itemsAt(resource, `${path}.coding`)[0] ?? {}
    return { [field]: system === undefined && code === undefined ? undefined : { system, code } }
  },
})

/** A field as an extension. @param valueType the name of its value: `valueString` */
export const extensionElement = (field: string, url: string, valueType: string): FhirElement => ({
  paths: { [field]: `extension.where(url='${url}').${valueType}` },
  show: (record) => (record[field] === undefined ? {} : { extension: [{ url, [valueType]: record[field] }] }),
  read: (resource) => ({
    [field]: itemsAt(resource, 'extension').find((one) => one.url === url)?.[valueType],
  }),
})

/** The id in a reference to a resource of this type, relative or absolute; undefined for others. */
export function referencedId(reference: unknown, type: string): string | undefined {
  if (typeof reference !== 'string') return undefined
  return new RegExp(`(?:^|/)${type}/([A-Za-z0-9.-]{1,64})(?:/_history/\\d+)?$`).exec(reference)?.[1]
}

/** The id of the Practitioner of a user; undefined if the user id has characters that neither has. */
export const practitionerIdOf = (mvUid: unknown): string | undefined =>
  typeof mvUid === 'string' && /^[\w-]{1,64}$/.test(mvUid) ? mvUid.replaceAll('_', '.') : undefined

/** The user id of a Practitioner: ids in FHIR have no underscores, and user ids no dots. */
export const userIdOfPractitioner = (id: string): string => id.replaceAll('.', '_')

/** A user, by the id. The reference to the Practitioner is added for readers who know the user. */
export const userReference = (mvUid: unknown) => ({
  type: 'Practitioner',
  identifier: { system: ownUri('user'), value: mvUid },
})

/** The user id in a reference to a user. */
export function userIdOf(reference: unknown): unknown {
  const id = referencedId(elementAt(reference, 'reference'), 'Practitioner')
  if (id !== undefined) return userIdOfPractitioner(id)
  return elementAt(reference, 'identifier.system') === ownUri('user')
    ? elementAt(reference, 'identifier.value')
    : undefined
}

/** A field with the id of another record, as a reference. */
export const referenceElement = (field: string, path: string, type: string): FhirElement => ({
  paths: { [field]: path },
  show: (record) =>
    record[field] === undefined ? {} : elementWith(path, { reference: `${type}/${record[field]}` }),
  read: (resource) => ({ [field]: referencedId(elementAt(resource, `${path}.reference`), type) }),
})

/** A field whose words are codes of one code system, as an extension. */
export function conceptExtension(field: string, url: string, system: string): FhirElement {
  const concept = conceptElement(field, 'valueCodeableConcept', system)
  return {
    paths: { [field]: `extension.where(url='${url}').valueCodeableConcept` },
    show: (record) => (record[field] === undefined ? {} : { extension: [{ url, ...concept.show(record) }] }),
    read: (resource) => concept.read(itemsAt(resource, 'extension').find((one) => one.url === url) ?? {}),
  }
}
