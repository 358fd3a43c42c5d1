import { type Answer, assertStatus } from '../harness/clients/path-client.ts'
import type { Person } from '../harness/people/people.ts'

// biome-ignore lint/suspicious/noExplicitAny: resources have any form
export type Json = any

const FHIR_JSON = 'application/fhir+json'

/** A person or an app. */
export type FhirCaller = Pick<Person, 'call'>

/** Calls the FHIR API as a person or an app. A body is sent as FHIR JSON. */
export const callFhir = (
  who: FhirCaller,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> =>
  who.call(method, `/fhir/R4/${path}`, body === undefined ? undefined : Buffer.from(JSON.stringify(body)), {
    ...(body === undefined ? {} : { 'content-type': FHIR_JSON }),
    ...headers,
  })

export const readFhir = async (who: FhirCaller, path: string, status = 200): Promise<Json> =>
  assertStatus(await callFhir(who, 'GET', path), status)

/** The ids of the resources in a Bundle that fit the search. */
export const idsIn = ({ entry = [] }: Json): string[] =>
  entry.filter((one: Json) => one.search.mode === 'match').map(({ resource }: Json) => resource.id)

/** The resources of a search, page by page. */
export async function readPages(who: FhirCaller, path: string): Promise<string[]> {
  const resources: string[] = []
  let next: string | undefined = path
  while (next !== undefined) {
    const bundle: Json = await readFhir(who, next)
    resources.push(...idsIn(bundle))
    next = bundle.link.find(({ relation }: Json) => relation === 'next')?.url.replace(/^.*\/fhir\/R4\//, '')
  }
  return resources
}

/** The issues of an OperationOutcome as `code expression`. */
export const issuesIn = ({ body }: Answer): string[] =>
  body.issue.map(({ code, expression = [], location = [] }: Json) =>
    [code, ...expression, ...location].join(' '),
  )

const quantity = (value: number, code: string, unit = code) => ({
  value,
  unit,
  system: 'http://unitsofmeasure.org',
  code,
})

const loinc = (code: string) => ({ coding: [{ system: 'http://loinc.org', code }] })

const VITAL_SIGNS = {
  coding: [{ system: 'http://terminology.hl7.org/CodeSystem/observation-category', code: 'vital-signs' }],
}

/** A blood pressure as other systems send it. */
export const bloodPressureOf = (ehrId: string, more: object = {}) => ({
  resourceType: 'Observation',
  status: 'final',
  category: [VITAL_SIGNS],
  code: { ...loinc('85354-9'), text: 'Blood pressure systolic and diastolic' },
  subject: { reference: `Patient/${ehrId}` },
  effectiveDateTime: '2026-03-01T09:30:00+01:00',
  component: [
    { code: loinc('8480-6'), valueQuantity: quantity(128, 'mm[Hg]', 'mmHg') },
    { code: loinc('8462-4'), valueQuantity: quantity(82, 'mm[Hg]', 'mmHg') },
  ],
  ...more,
})
