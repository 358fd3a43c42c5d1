import assert from 'node:assert/strict'
import { type ClassName, classes } from '../records/kinds.ts'
import { newGoal, newPatient, newPlan, type Patient } from './harness/care/patients.ts'
import { classesOf, moment } from './harness/clients/class-client.ts'
import { type Answer, etagOf, ok } from './harness/clients/path-client.ts'
import type { Person } from './harness/people/people.ts'
import { keys } from './harness/service/service.ts'

export type Shown = Record<string, unknown>

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
  /** Where it is added; its own path is below, except that an EHR has none to be shown at. */
  at(place: Place): string
  /** What the path family's body and the class family's object have alike. */
  told: Shown
  /** What only the object says: where it belongs, and its dates. */
  object(place: Place): Shown
  /** The same dates in the body. */
  dates: Shown
  /** Absent: nothing of it can change. */
  change?: Shown
  /** Whether its history is shown. */
  history?: true
}

const dueDate = '2026-06-30'
const part = {
  told: { name: 'One', description: 'Two', notes: 'Three' },
  dates: { dueDate },
  change: { notes: 'changed' },
  history: true,
} as const

export const kinds = {
  Ehr: { at: () => '/med/ehr', told: { subjectId: 'patient 12' }, dates: {}, object: () => ({}) },
  CarePlan: {
    ...part,
    at: ({ ehrId }) => `/med/${ehrId}/careplan`,
    object: ({ ehrId }) => ({ ehrId, dueDate: day(dueDate) }),
  },
  Goal: {
    ...part,
    at: ({ ehrId, carePlanId }) => `/med/${ehrId}/careplan/${carePlanId}/goal`,
    object: ({ ehrId, carePlanId }) => ({ ehrId, carePlanId, dueDate: day(dueDate) }),
  },
  Task: {
    ...part,
    at: ({ ehrId, carePlanId, goalId }) => `/med/${ehrId}/careplan/${carePlanId}/goal/${goalId}/task`,
    object: (place) => ({ ...place, dueDate: day(dueDate) }),
  },
  Event: {
    at: ({ ehrId }) => `/med/${ehrId}/event`,
    told: { type: 'visit', title: 'One', participants: [{ mvUid: 'bW81kPzQ7e', status: 'INVITED' }] },
    dates: { start: '2026-03-01T08:30:00.000Z' },
    object: ({ ehrId }) => ({ ehrId, start: moment('2026-03-01T08:30:00.000Z') }),
    change: { title: 'changed' },
  },
} satisfies Partial<Record<ClassName, Kind>> as Record<string, Kind> as Record<KindName, Kind>

export type KindName = 'Ehr' | 'CarePlan' | 'Goal' | 'Task' | 'Event'
export const KIND_NAMES = Object.keys(kinds) as KindName[]
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

export const createByPath = async (who: Person, name: KindName, place: Place): Promise<Shown> =>
  ok(await who.call('POST', kinds[name].at(place), { ...kinds[name].told, ...kinds[name].dates }), 201)

export async function createByClass(who: Person, name: KindName, place: Place): Promise<Shown> {
  const { body } = await byClass(who).post(name, { ...kinds[name].told, ...kinds[name].object(place) })
  assert.ok(body.objectId, JSON.stringify(body))
  return body
}

/** The record as the path family shows it: a task stands in its goal, an EHR in the list. */
export async function shownBy(
  who: Person,
  name: KindName,
  place: Place,
  id: string,
): Promise<{ resource: Shown | undefined; etag?: string }> {
  const one = (within: Shown[]) => ({ resource: within.find((one) => one.id === id) })
  const at = kinds[name].at(place)
  if (name === 'Ehr') return one(ok(await who.call('GET', `${at}?limit=1000`)).items)
  const answer: Answer = await who.call('GET', name === 'Task' ? at.replace(/\/task$/, '') : `${at}/${id}`)
  if (answer.status === 404) return { resource: undefined }
  return name === 'Task' ? one(ok(answer).tasks) : { resource: ok(answer), etag: etagOf(answer) }
}

/** Asserts that the resource of the path family and the object of the class family say the same. */
export function agree(name: KindName, resource: Shown | undefined, object: Shown): void {
  assert.ok(resource, name)
  assert.equal(resource.id, object.objectId)
  const common = Object.keys(classes[name].stored.properties).filter((field) => field in resource)
  assert.ok(common.includes('version') && common.length > 2, String(common))
  for (const field of common) assert.deepEqual(objectForm(field, resource[field]), object[field], field)
}

function objectForm(field: string, value: unknown): unknown {
  if (value === null) return undefined
  if (typeof value !== 'string' || field === 'createdAt') return value
  if (/^\d{4}-\d\d-\d\d$/.test(value)) return day(value)
  return /^\d{4}-\d\d-\d\dT.*Z$/.test(value) ? moment(value) : value
}
