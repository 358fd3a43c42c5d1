import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { toXml } from '../../../openehr/rm/canonical-xml.ts'
import type { Answer } from '../../harness/clients/path-client.ts'
import { createPressureComposition, createTemplateXml } from '../../harness/openehr-samples.ts'
import { asXml, createRestSystem, type RestSystem, showing } from '../../harness/people/rest-systems.ts'

/** The caller of the cases: a connected system that may store templates. */
export interface Fixture extends RestSystem {
  template: string
  /** Another template of the same content. */
  otherTemplate: string
}

export async function createFixture(): Promise<Fixture> {
  const system = await createRestSystem(['modeller'])
  const [template, otherTemplate] = [1, 2].map((i) => `Pressure ${i} ${randomUUID()}`) as [string, string]
  for (const id of [template, otherTemplate]) {
    const answer = await system.rest(
      'POST',
      '/definition/template/adl1.4',
      Buffer.from(createTemplateXml(id)),
      asXml,
    )
    assertStatuses(answer, 201)
  }
  return { ...system, template, otherTemplate }
}

/** Asserts the status, and that a refusal has the form of ITS-REST. */
export function assertStatuses({ status, body }: Answer, ...expected: number[]): void {
  assert.ok(expected.includes(status), `${status} ${JSON.stringify(body)?.slice(0, 500)}`)
  if (status < 400) return
  assert.equal(typeof body.message, 'string')
  assert.ok(Array.isArray(body.validationErrors))
}

export const subjectStatus = (subjectId: string = randomUUID(), more: object = {}) => ({
  _type: 'EHR_STATUS',
  archetype_node_id: 'openEHR-EHR-EHR_STATUS.generic.v1',
  name: { value: 'EHR Status' },
  subject: {
    external_ref: {
      id: { _type: 'GENERIC_ID', value: subjectId, scheme: 'id_scheme' },
      namespace: 'patients',
      type: 'PERSON',
    },
  },
  is_modifiable: true,
  is_queryable: true,
  ...more,
})

/** @returns the id of a new EHR */
export async function createEhr({ rest }: Fixture, status?: object): Promise<string> {
  const answer = await rest('POST', '/ehr', status)
  assertStatuses(answer, 201)
  return answer.etag.slice(1, -1)
}

export const compositionOf = (template: string, systolic: number, more = {}) =>
  createPressureComposition(template, systolic, more)

/** Stores a composition. @returns the uid of its version */
export async function commit({ rest, template }: Fixture, ehrId: string, systolic = 142): Promise<string> {
  const answer = await rest('POST', `/ehr/${ehrId}/composition`, compositionOf(template, systolic))
  assertStatuses(answer, 201)
  return answer.etag.slice(1, -1)
}

/** Replaces a composition. @returns the uid of the new version */
export async function update(fixture: Fixture, ehrId: string, uid: string, systolic = 150): Promise<string> {
  const [id] = uid.split('::')
  const answer = await fixture.rest(
    'PUT',
    `/ehr/${ehrId}/composition/${id}`,
    compositionOf(fixture.template, systolic),
    { 'if-match': uid, ...showing },
  )
  assertStatuses(answer, 200)
  return answer.etag.slice(1, -1)
}

export const idOf = (uid: string): string => uid.split('::')[0] ?? ''
export const withVersion = (uid: string, version: number | string): string =>
  uid.replace(/\d+$/, String(version))
export const randomUid = (): string => `${randomUUID()}::hrs.local::1`

// biome-ignore lint/suspicious/noExplicitAny: cases read nested values
export const systolicOf = (composition: any): number =>
  composition.content[0].data.events[0].data.items[0].value.magnitude

export const xmlOf = (object: object, root: string): Buffer =>
  Buffer.from(toXml(object as Parameters<typeof toXml>[0], root))

/** Sets one of the switches of an EHR's status. @returns the answer */
export async function setStatus({ rest }: Fixture, ehrId: string, change: object): Promise<Answer> {
  const now = await rest('GET', `/ehr/${ehrId}/ehr_status`)
  assertStatuses(now, 200)
  const { uid: _, ...status } = now.body
  return rest(
    'PUT',
    `/ehr/${ehrId}/ehr_status`,
    { ...status, ...change },
    { 'if-match': now.etag, ...showing },
  )
}

export const folder = (name = 'root', more: object = {}) => ({
  _type: 'FOLDER',
  name: { _type: 'DV_TEXT', value: name },
  archetype_node_id: 'openEHR-EHR-FOLDER.generic.v1',
  ...more,
})

/** A case of the public suite, in our words; or several that differ in their data. */
export interface ConformanceCase {
  /** Number of the suite's cases that it stands for; default: 1 */
  cases?: number
  does: string
  run(fixture: Fixture): Promise<void>
}

/** Cases that the service answers differently, and why. */
interface Deviation {
  cases: number
  does: string
  because: string
}

export interface ConformanceArea {
  area: string
  cases: ConformanceCase[]
  deviations: Deviation[]
}

const codedText = (value: string, code: string) => ({
  _type: 'DV_CODED_TEXT',
  value,
  defining_code: { terminology_id: { value: 'openehr' }, code_string: code },
})

const auditOf = (code: string) => ({
  _type: 'AUDIT_DETAILS',
  change_type: codedText('change', code),
  committer: { _type: 'PARTY_IDENTIFIED', name: 'Dr. Lee' },
})

/** A version in a contribution, by default the first one. */
export const versionOf = (
  data: object | undefined,
  { preceding, code = preceding ? '251' : '249' }: { preceding?: string; code?: string } = {},
) => ({
  _type: 'ORIGINAL_VERSION',
  ...(preceding && { preceding_version_uid: { _type: 'OBJECT_VERSION_ID', value: preceding } }),
  lifecycle_state: codedText('complete', '532'),
  commit_audit: auditOf(code),
  ...(data && { data }),
})

export const contributionOf = (...versions: object[]) => ({
  _type: 'CONTRIBUTION',
  versions,
  audit: auditOf('249'),
})
