import assert from 'node:assert/strict'
import { type ClassName, classes, classKind } from '../records/kinds.ts'
import { fromPath, pathName } from '../schemas/forms/fields.ts'
import { newGoal, newPatient, newPlan, type Patient } from './harness/care/patients.ts'
import {
  addition,
  exampleBody,
  exampleChange,
  exampleObject,
  isOffered,
  pathIn,
  pathOfOne,
  placeOf,
  SHARED,
  unlike,
} from './harness/care/samples/examples.ts'
import { SAMPLED_KINDS } from './harness/care/samples/kinds-of-each-shape.ts'
import { classesOf, moment } from './harness/clients/class-client.ts'
import { type Answer, ok } from './harness/clients/path-client.ts'
import type { Person } from './harness/people/people.ts'
import { keys } from './harness/service/service.ts'

export type Json = Record<string, unknown>

/** The class family as the same person sees it. */
export const byClass = ({ sessionToken }: Person) =>
  classesOf({ headers: { ...keys(), 'X-Parse-Session-Token': sessionToken } })

export const day = (date: string) => moment(`${date}T00:00:00.000Z`)

/** Where a resource belongs. */
export interface Place {
  ehrId: string
  carePlanId: string
  goalId: string
}

/** A resource that both families have: what each of them writes of it, and where the path family has it. */
interface Kind {
  /** Where it is added, as which method. */
  at(place: Place, body?: Json): string
  method: string
  /** Whether its path is not made of its id. */
  isNamed: boolean
  /** What the path family's client writes. */
  body: Json
  /** The same as the class family's client writes it, with where it belongs. */
  object(place: Place): Json
  /** Absent: nothing of it can change. */
  change: Json | undefined
  /** What else the path family offers of one. */
  shows: boolean
  history: boolean
  deletes: boolean
}

function kindOf(name: ClassName): Kind {
  const operation = addition(name)
  assert.ok(operation)
  return {
    at: (place, body) => pathIn(operation.path, { ...body, ...place }),
    method: operation.method.toUpperCase(),
    isNamed: operation.path.endsWith('}'),
    body: exampleBody(name),
    object: (place) => ({ ...placeOf(name, place), ...exampleObject(name) }),
    change: exampleChange(name),
    shows: isOffered('get', operation),
    history: isOffered('get', operation, '/history'),
    deletes: isOffered('delete', operation),
  }
}

export const kinds = Object.fromEntries(SHARED.map((name) => [name, kindOf(name)])) as Record<ClassName, Kind>

export type KindName = ClassName
export const KIND_NAMES = SHARED.filter((name) => SAMPLED_KINDS.includes(name))
/** Those with a status. */
export const PARTS = ['CarePlan', 'Goal', 'Task'] as const

/** Somebody's EHR with a plan and a goal in it. */
export async function newPlace(): Promise<{ patient: Patient; place: Place }> {
  const patient = await newPatient()
  const carePlanId = await newPlan(patient)
  return {
    patient,
    place: { ehrId: patient.ehrId, carePlanId, goalId: await newGoal(patient, carePlanId) },
  }
}

/** What makes the records that were made here different ones. */
const made = new Map<string, Json>()
export const differing = (id: string): Json => made.get(id) ?? {}

/** What makes another one of a kind of which an EHR has each once. */
const another = (name: KindName): Json => {
  const values = unlike(name, kinds[name].body)
  return Object.fromEntries((classKind(name).known?.by ?? []).map((field) => [field, values[field]]))
}

/** What was written of a record, as the path family's client writes it. */
export const expectedOf = (name: KindName, id: string): Json => ({ ...kinds[name].body, ...made.get(id) })

/** The path of one record, except that an EHR has none to be shown at. */
export const pathOf = (name: KindName, place: Place, id: string): string =>
  pathOfOne(name, kinds[name].at(place, expectedOf(name, id)), id)

export async function createByPath(who: Person, name: KindName, place: Place): Promise<Json> {
  const { at, method } = kinds[name]
  const own = another(name)
  const body = { ...kinds[name].body, ...own }
  const named = 'carePlanId' in classKind(name).body.properties && { carePlanId: place.carePlanId }
  const created = ok(await who.call(method, at(place, body), { ...body, ...named }), 201)
  made.set(String(created.id), own)
  return created
}

export async function createByClass(who: Person, name: KindName, place: Place): Promise<Json> {
  const own = another(name)
  const { body } = await byClass(who).post(name, { ...kinds[name].object(place), ...own })
  assert.ok(body.objectId, JSON.stringify(body))
  made.set(body.objectId, own)
  return body
}

/** The record as the path family shows it: a task stands in its goal, an EHR in the list. */
export async function readByPath(
  who: Person,
  name: KindName,
  place: Place,
  id: string,
): Promise<{ resource: Json | undefined; etag?: string }> {
  const one = (within: Json[]) => ({ resource: within.find((one) => one.id === id) })
  const path = pathOf(name, place, id)
  if (name === 'Ehr') return one(ok(await who.call('GET', '/med/ehr?limit=1000')).items)
  const answer: Answer = await who.call('GET', name === 'Task' ? path.replace(/\/task\/\w+$/, '') : path)
  if (answer.status === 404) return { resource: undefined }
  return name === 'Task' ? one(ok(answer).tasks) : { resource: ok(answer), etag: answer.etag }
}

/** Asserts that the resource of the path family and the object of the class family say the same. */
export function agree(name: KindName, resource: Json | undefined, object: Json): void {
  assert.ok(resource, name)
  assert.equal(resource.id, object.objectId)
  const fields = fromPath(classKind(name).fields, resource)
  const common = Object.keys(classes[name].stored.properties).filter((field) => field in fields)
  assert.ok(common.includes('version') === tellsVersion(name) && common.length > 2, String(common))
  // To the path family a measurement that no composition holds is one by itself.
  const said: Json = { compositionId: object.objectId, ...object }
  for (const field of common) assert.deepEqual(objectForm(field, fields[field]), said[field], field)
}

/** Whether its resource counts the writes, beside its ETag; the version of a questionnaire is another one. */
export const tellsVersion = (name: KindName): boolean =>
  !Object.keys(classKind(name).fields).some((field) => pathName(classKind(name).fields, field) === 'version')

function objectForm(field: string, value: unknown): unknown {
  if (value === null) return undefined
  if (typeof value !== 'string' || field === 'createdAt') return value
  if (/^\d{4}-\d\d-\d\d$/.test(value)) return day(value)
  return /^\d{4}-\d\d-\d\dT.*Z$/.test(value) ? moment(value) : value
}
