import { parseIsoTime } from '../../schemas/time/iso-time.ts'
import { elementAt, elementPath, elementWith, type FhirJson, joinElements } from './element-paths.ts'
import type { FhirElement } from './fhir-element.ts'

/** URIs of our own code systems, extensions and identifiers. They never change, unlike the service's URL. */
export const ownUri = (name: string): string => `urn:health-record-service:${name}`

export const TERMINOLOGY = 'http://terminology.hl7.org/CodeSystem'
export const STRUCTURES = 'http://hl7.org/fhir/StructureDefinition'

export interface FhirCoding {
  system: string
  code: string
  display?: string
}

/** No element of FHIR has an empty text. */
const isEmpty = (value: unknown): boolean => value === undefined || value === ''

/** A field as one value at a path. */
export function valueElement(field: string, path: string): FhirElement {
  const fhirPath = elementPath(path)
  return {
    paths: { [field]: path },
    show: (record) => (isEmpty(record[field]) ? {} : fhirPath.show(record[field])),
    read: (resource) => ({ [field]: fhirPath.read(resource) }),
  }
}

/** Several fields as the members of one item of a list: `itemElement('dosage', [valueElement('dosage', 'text')])`. */
export function itemElement(path: string, members: readonly FhirElement[]): FhirElement {
  const fhirPath = elementPath(`${path}[0]`)
  const items = itemsPath(path)
  return {
    paths: Object.fromEntries(
      members.flatMap(({ paths }) =>
        Object.entries(paths).map(([field, below]) => [field, `${path}[0].${below}`]),
      ),
    ),
    show: (record) => {
      const item = joinElements(members.map((member) => member.show(record)))
      return Object.keys(item).length === 0 ? {} : fhirPath.show(item)
    },
    read: (resource) => {
      const item = items(resource)[0] ?? {}
      return Object.assign({}, ...members.map((member) => member.read(item)))
    },
  }
}

/** The placeholder for a required element whose value nobody knows. */
export const UNKNOWN_VALUE = {
  extension: [{ url: `${STRUCTURES}/data-absent-reason`, valueCode: 'unknown' }],
}

/** A name in the words of its author, which the first code may explain instead. */
export function conceptTextElement(field: string, path: string): FhirElement {
  const text = elementPath(`${path}.text`)
  const display = elementPath(`${path}.coding[0].display`)
  return {
    ...valueElement(field, `${path}.text`),
    read: (resource) => ({ [field]: text.read(resource) ?? display.read(resource) }),
  }
}

/** The moment in UTC of a time with an offset; a day alone, or anything else, stays as sent. */
export const momentOf = (value: unknown): unknown =>
  (typeof value === 'string' && value.includes('T') && parseIsoTime(value)?.utc) || value

/** A field with a moment. */
export function momentElement(field: string, path: string): FhirElement {
  const value = valueElement(field, path)
  return { ...value, read: (resource) => ({ [field]: momentOf(value.read(resource)[field]) }) }
}

/** An element with the same value in every resource of the kind. */
export function constantElement(path: string, value: unknown): FhirElement {
  const element = elementWith(path, value)
  return {
    paths: {},
    show: () => element,
    read: () => ({}),
  }
}

/** A field whose words are codes of the specification: `{ ACTIVE: 'active' }`. */
export function codeElement(
  field: string,
  path: string,
  codes: Readonly<Record<string, string>>,
): FhirElement {
  const words = new Map(Object.entries(codes).map(([word, code]) => [code, word]))
  const fhirPath = elementPath(path)
  return {
    paths: { [field]: path },
    codes: { [field]: Object.values(codes) },
    show: (record) => {
      const code = codes[String(record[field])]
      return code === undefined ? {} : fhirPath.show(code)
    },
    read: (resource) => {
      const code = fhirPath.read(resource)
      return { [field]: words.get(code as string) ?? code }
    },
  }
}

/** The elements in the list at a path. */
const itemsPath = (path: string) => {
  const fhirPath = elementPath(path)
  return (resource: FhirJson): readonly FhirJson[] => {
    const items = fhirPath.read(resource)
    return Array.isArray(items) ? items.filter((one) => typeof one === 'object' && one !== null) : []
  }
}

const extensionsOf = itemsPath('extension')

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
  const fhirPath = elementPath(path)
  const codingsOf = itemsPath(`${path}.coding`)
  return {
    paths: { [field]: path },
    show: (record) => {
      const word = record[field] as string | undefined
      return word === undefined ? {} : fhirPath.show({ coding: [{ system, code: codes[word] ?? word }] })
    },
    read: (resource) => {
      const code = codingsOf(resource).find((one) => one.system === system)?.code
      return { [field]: words.get(code as string) ?? code }
    },
  }
}

/** A field with a code of any code system: `{ system, code }`. */
export function codingElement(field: string, path: string): FhirElement {
  const codingsOf = itemsPath(`${path}.coding`)
  return {
    ...valueElement(field, `${path}.coding[0]`),
    read: (resource) => {
      const { system, code } = codingsOf(resource)[0] ?? {}
      return { [field]: system === undefined && code === undefined ? undefined : { system, code } }
    },
  }
}

/** A field as an extension. @param valueType the name of its value: `valueString` */
export const extensionElement = (field: string, url: string, valueType: string): FhirElement => ({
  paths: { [field]: `extension.where(url='${url}').${valueType}` },
  show: (record) => (isEmpty(record[field]) ? {} : { extension: [{ url, [valueType]: record[field] }] }),
  read: (resource) => ({
    [field]: extensionsOf(resource).find((one) => one.url === url)?.[valueType],
  }),
})

const REFERENCE = /^([A-Za-z]+)\/([A-Za-z0-9.-]{1,64})(?:\/_history\/\d+)?$/

/** The id in a relative reference to a resource of any type; undefined for other texts. */
export const idInReference = (text: string): string | undefined => REFERENCE.exec(text)?.[2]

/** The id in a relative reference to a resource of this type; undefined for others, such as those of other servers. */
export function referencedId(reference: unknown, type: string): string | undefined {
  if (typeof reference !== 'string') return undefined
  const [, referencedType, id] = REFERENCE.exec(reference) ?? []
  return referencedType === type ? id : undefined
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
export function referenceElement(field: string, path: string, type: string): FhirElement {
  const fhirPath = elementPath(`${path}.reference`)
  return {
    paths: { [field]: path },
    show: (record) => (record[field] === undefined ? {} : fhirPath.show(`${type}/${record[field]}`)),
    read: (resource) => ({ [field]: referencedId(fhirPath.read(resource), type) }),
  }
}

/** A field whose words are codes of one code system, as an extension. */
export function conceptExtension(field: string, url: string, system: string): FhirElement {
  const concept = conceptElement(field, 'valueCodeableConcept', system)
  return {
    paths: { [field]: `extension.where(url='${url}').valueCodeableConcept` },
    show: (record) => (record[field] === undefined ? {} : { extension: [{ url, ...concept.show(record) }] }),
    read: (resource) => concept.read(extensionsOf(resource).find((one) => one.url === url) ?? {}),
  }
}
