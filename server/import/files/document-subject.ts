import { isJsonObject, type JsonObject, memberAt, nonEmptyText, objectsIn } from '../import-entry.ts'

const identifierKey = (identifier: unknown): string | undefined => {
  const value = nonEmptyText(memberAt(identifier, 'value'))
  return value && `${memberAt(identifier, 'system') ?? ''}|${value}`
}

/** A URL `…/Patient/1` without the version of the resource. */
const withoutVersion = (reference: string): string => reference.split('/_history/', 1)[0] ?? ''

/**
 * Each name under which a bundle may speak of a patient that it contains, with one of them.
 * @param entries entries of a bundle
 */
function patientNames(entries: readonly unknown[]): Map<string, string> {
  const canonicalNames = new Map<string, string>()
  for (const entry of entries) {
    const patient = memberAt(entry, 'resource')
    if (!isJsonObject(patient) || patient.resourceType !== 'Patient') continue
    const names = [
      nonEmptyText(memberAt(entry, 'fullUrl')) ?? [],
      nonEmptyText(patient.id) ? `Patient/${patient.id}` : [],
      objectsIn(patient.identifier).flatMap((identifier) => identifierKey(identifier) ?? []),
    ].flat(2)
    for (const name of names) canonicalNames.set(name, names[0] as string)
  }
  return canonicalNames
}

/** A contained resource has an id of its own in each resource, so that only its contents identify the person. */
function containedKey(resource: JsonObject, reference: string): string | undefined {
  const patient = objectsIn(resource.contained).find(({ id }) => `#${id}` === reference)
  return (
    patient &&
    (identifierKey(objectsIn(patient.identifier)[0]) ?? JSON.stringify([patient.name, patient.birthDate]))
  )
}

/** The names of the person of an entry, the most precise first. */
function subjectNames({ fullUrl, resource }: JsonObject): string[] {
  if (!isJsonObject(resource)) return []
  const subject = resource.subject ?? resource.patient
  const reference = withoutVersion(nonEmptyText(memberAt(subject, 'reference')) ?? '')
  if (reference.startsWith('#')) return [containedKey(resource, reference) ?? []].flat()
  // A relative reference means a resource on the server of the entry.
  const server = withoutVersion(String(fullUrl)).split('/').slice(0, -2).join('/')
  if (/^\w+\/[^/]+$/.test(reference)) return server ? [`${server}/${reference}`, reference] : [reference]
  return [reference || (identifierKey(memberAt(subject, 'identifier')) ?? [])].flat()
}

/** Returns a function that names the person of a bundle's entry; undefined if the entry names nobody. */
export function createSubjectReader(entries: readonly unknown[]): (entry: JsonObject) => string | undefined {
  const patients = patientNames(entries)
  return (entry) => {
    const names = subjectNames(entry)
    return names.flatMap((name) => patients.get(name) ?? [])[0] ?? names[0]
  }
}

/** The more precise of two names if they can mean one person: `Patient/1` and `https://example.org/Patient/1`. */
function commonName(one: string, other: string): string | undefined {
  if (one === other || one.endsWith(`/${other}`)) return one
  return other.endsWith(`/${one}`) ? other : undefined
}

/**
 * @param subjects positions of records in the file, with the names of their persons
 * @throws Error if two of them are about different persons
 */
export function requireOneSubject(subjects: Iterable<readonly [at: string, name: string]>): void {
  let first: readonly [at: string, name: string] | undefined
  for (const [at, name] of subjects) {
    const common = first ? commonName(first[1], name) : name
    if (common === undefined)
      throw new Error(
        `The file has records of several people: ${first?.[0]} and ${at} differ. Split it, and import each part into the EHR of its person.`,
      )
    first = [first?.[0] ?? at, common]
  }
}
