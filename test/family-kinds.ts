import assert from 'node:assert/strict'
import { type ClassName, classKindOf, classKinds } from '../records/kinds.ts'
import { fromPathNames, pathNameOf } from '../schemas/forms/fields.ts'
import { createGoal, createPatient, createPlan, type Patient } from './harness/care/patients.ts'
import {
  createExampleChange,
  exampleBody,
  exampleObject,
  fillPath,
  findAddOperation,
  isOffered,
  parentIdsOf,
  recordPathOf,
  SHARED_KINDS,
  withOtherKey,
} from './harness/care/samples/examples.ts'
import { SAMPLED_KINDS } from './harness/care/samples/kinds-of-each-shape.ts'
import { createClassClient, parseDate } from './harness/clients/class-client.ts'
import { type Answer, assertStatus } from './harness/clients/path-client.ts'
import type { Person } from './harness/people/people.ts'
import { apiKeys } from './harness/service/service.ts'

export type Json = Record<string, unknown>

/** The class family for the same person. */
export const byClass = ({ sessionToken }: Person) =>
  createClassClient({ headers: { ...apiKeys(), 'X-Parse-Session-Token': sessionToken } })

export const day = (date: string) => parseDate(`${date}T00:00:00.000Z`)

/** The parents of a record. */
export interface Place {
  ehrId: string
  carePlanId: string
  goalId: string
}

/** A kind in both families: their bodies, and its address in the path family. */
interface Kind {
  /** The path at which it is added, with `method`. */
  at(place: Place, body?: Json): string
  method: string
  /** Whether its path contains another key instead of its id. */
  isNamed: boolean
  /** The body in the path family. */
  body: Json
  /** The same in the class family, with its parents. */
  object(place: Place): Json
  /** A change of some fields; absent: the kind cannot change. */
  change: Json | undefined
  /** Whether the path family shows single records. */
  shows: boolean
  history: boolean
  deletes: boolean
}

function kindOf(name: ClassName): Kind {
  const operation = findAddOperation(name)
  assert.ok(operation)
  return {
    at: (place, body) => fillPath(operation.path, { ...body, ...place }),
    method: operation.method.toUpperCase(),
    isNamed: operation.path.endsWith('}'),
    body: exampleBody(name),
    object: (place) => ({ ...parentIdsOf(name, place), ...exampleObject(name) }),
    change: createExampleChange(name),
    shows: isOffered('get', operation),
    history: isOffered('get', operation, '/history'),
    deletes: isOffered('delete', operation),
  }
}

export const kinds = Object.fromEntries(SHARED_KINDS.map((name) => [name, kindOf(name)])) as Record<
  ClassName,
  Kind
>

export type KindName = ClassName
export const KIND_NAMES = SHARED_KINDS.filter((name) => SAMPLED_KINDS.includes(name))
/** The kinds with a status. */
export const PARTS = ['CarePlan', 'Goal', 'Task'] as const

/** An EHR with a plan and a goal. */
export async function newPlace(): Promise<{ patient: Patient; place: Place }> {
  const patient = await createPatient()
  const carePlanId = await createPlan(patient)
  return {
    patient,
    place: { ehrId: patient.ehrId, carePlanId, goalId: await createGoal(patient, carePlanId) },
  }
}

/** The distinguishing fields of the records created here. */
const fieldsById = new Map<string, Json>()
export const differing = (id: string): Json => fieldsById.get(id) ?? {}

/** Other values for a kind whose natural key an EHR has only once. */
const another = (name: KindName): Json => {
  const values = withOtherKey(name, kinds[name].body)
  return Object.fromEntries(
    (classKindOf(name).naturalKey?.fields ?? []).map((field) => [field, values[field]]),
  )
}

/** The expected fields of a record in the path form. */
export const expectedOf = (name: KindName, id: string): Json => ({
  ...kinds[name].body,
  ...fieldsById.get(id),
})

/** The path of one record; an EHR has no path of its own. */
export const pathOf = (name: KindName, place: Place, id: string): string =>
  recordPathOf(name, kinds[name].at(place, expectedOf(name, id)), id)

export async function createByPath(who: Person, name: KindName, place: Place): Promise<Json> {
  const { at, method } = kinds[name]
  const ownRecord = another(name)
  const body = { ...kinds[name].body, ...ownRecord }
  const planReference = 'carePlanId' in classKindOf(name).body.properties && { carePlanId: place.carePlanId }
  const created = assertStatus(await who.call(method, at(place, body), { ...body, ...planReference }), 201)
  fieldsById.set(String(created.id), ownRecord)
  return created
}

export async function createByClass(who: Person, name: KindName, place: Place): Promise<Json> {
  const ownRecord = another(name)
  const { body } = await byClass(who).post(name, { ...kinds[name].object(place), ...ownRecord })
  assert.ok(body.objectId, JSON.stringify(body))
  fieldsById.set(body.objectId, ownRecord)
  return body
}

/** Reads a record from the path family: a task from its goal, an EHR from the list. */
export async function readByPath(
  who: Person,
  name: KindName,
  place: Place,
  id: string,
): Promise<{ resource: Json | undefined; etag?: string }> {
  const one = (within: Json[]) => ({ resource: within.find((one) => one.id === id) })
  const path = pathOf(name, place, id)
  if (name === 'Ehr') return one(assertStatus(await who.call('GET', '/med/ehr?limit=1000')).items)
  const answer: Answer = await who.call('GET', name === 'Task' ? path.replace(/\/task\/\w+$/, '') : path)
  if (answer.status === 404) return { resource: undefined }
  return name === 'Task'
    ? one(assertStatus(answer).tasks)
    : { resource: assertStatus(answer), etag: answer.etag }
}

/** Asserts that the path family's resource and the class family's object are equal. */
export function agree(name: KindName, resource: Json | undefined, object: Json): void {
  assert.ok(resource, name)
  assert.equal(resource.id, object.objectId)
  const fields = fromPathNames(classKindOf(name).fields, resource)
  const common = Object.keys(classKinds[name].stored.properties).filter((field) => field in fields)
  assert.ok(common.includes('version') === tellsVersion(name) && common.length > 2, String(common))
  // In the path family a manually entered measurement is its own composition.
  const expected: Json = { compositionId: object.objectId, ...object }
  for (const field of common) assert.deepEqual(objectForm(field, fields[field]), expected[field], field)
}

/**
 * Whether its resource shows the number of writes besides its ETag. The `version` of a questionnaire is a
 * different one.
 */
export const tellsVersion = (name: KindName): boolean =>
  !Object.keys(classKindOf(name).fields).some(
    (field) => pathNameOf(classKindOf(name).fields, field) === 'version',
  )

function objectForm(field: string, value: unknown): unknown {
  if (value === null) return undefined
  if (typeof value !== 'string' || field === 'createdAt') return value
  if (/^\d{4}-\d\d-\d\d$/.test(value)) return day(value)
  return /^\d{4}-\d\d-\d\dT.*Z$/.test(value) ? parseDate(value) : value
}
