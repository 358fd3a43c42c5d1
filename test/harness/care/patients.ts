import assert from 'node:assert/strict'
import type { PlanRight } from '../../../records/ehrs/rights/access.ts'
import { setPlanRole } from '../../../records/ehrs/rights/roles.ts'
import { assertStatus } from '../clients/path-client.ts'
import { createPerson, type Person } from '../people/people.ts'
import { service } from '../service/service.ts'

/** A user with their account EHR. Paths without a leading slash are relative to that EHR. */
export interface Patient extends Person {
  ehrId: string
}

export async function createPatient(): Promise<Patient> {
  const person = await createPerson()
  const { body } = await person.call('GET', '/ehr')
  assert.equal(body.items.length, 1, JSON.stringify(body))
  return withEhr(person, body.items[0].id)
}

/** Creates an EHR about another user. */
export const createEhrAbout = async ({ mvUid }: Person, creator: Person): Promise<Patient> =>
  withEhr(creator, assertStatus(await creator.call('POST', '/ehr', { subjectId: mvUid }), 201).id)

function withEhr(person: Person, ehrId: string): Patient {
  const call: Person['call'] = (method, path, ...more) =>
    person.call(method, path.startsWith('/') ? path : `/ehr/${ehrId}/${path}`, ...more)
  return { ...person, ehrId, call }
}

export const createPlan = async (patient: Patient, more: object = {}): Promise<string> =>
  assertStatus(await patient.call('POST', 'careplan', { name: 'Lower blood pressure', ...more }), 201).id

export const createGoal = async (patient: Patient, planId: string, more: object = {}): Promise<string> =>
  assertStatus(await patient.call('POST', `careplan/${planId}/goal`, { name: 'Walk', ...more }), 201).id

export const createWeight = async (patient: Patient, carePlanId: string, weight = 70): Promise<string> => {
  const body = { carePlanId, weight, weightUnit: 'kg', timestamp: '2026-03-01T08:30:00Z' }
  return assertStatus(await patient.call('POST', 'procedure/bodyweight', body), 201).id
}

export const createTask = async (
  patient: Patient,
  planId: string,
  goalId: string,
  more: object = {},
): Promise<string> => {
  const path = `careplan/${planId}/goal/${goalId}/task`
  return assertStatus(await patient.call('POST', path, { name: 'Buy shoes', ...more }), 201).id
}

/** Adds a user to a care plan, like an accepted invitation. */
export async function addParticipant(planId: string, { mvUid }: Person, right: PlanRight): Promise<void> {
  const { client, db } = service
  const plan = await db.collection<{ _id: string; ehrId: string }>('CarePlan').findOne({ _id: planId })
  const role = { ehrId: plan?.ehrId ?? '', carePlanId: planId, right }
  await client.withSession((session) =>
    session.withTransaction(() => setPlanRole({ client, db }, session, mvUid, role, true)),
  )
}

/** Lets a user take part in a plan, as the patient does. */
export const letTakePart = async (
  patient: Patient,
  planId: string,
  { mvUid }: Person,
  terms: { access: 'READ' | 'WRITE'; role?: string },
) => assertStatus(await patient.call('POST', `careplan/${planId}/participant`, { mvUid, ...terms }), 201)

/** The audit of an EHR since a time, as lines such as `read CarePlan done`. */
export async function readAudit(ehrId: string, since = new Date(0)): Promise<string[]> {
  const entries = await service.db
    .collection('audit.entries')
    .find({ ehrId, at: { $gte: since } })
    .sort({ at: 1 })
    .toArray()
  return entries.map(({ action, type, outcome = 'done' }) => `${action} ${type} ${outcome}`)
}

const PRESSURE = { systolicUnit: 'mm[Hg]', diastolicUnit: 'mm[Hg]', timestamp: '2026-03-01T08:30:00Z' }
const HIGH_PRESSURE = { ...PRESSURE, systolic: 185, diastolic: 112 }

/** Registers a blood pressure outside the thresholds of a plan. @returns the id of the alert */
export async function createAlert(patient: Patient, carePlanId: string): Promise<string> {
  assertStatus(await patient.call('PUT', `careplan/${carePlanId}/thresholds`, { bloodpressure: 'esc2018' }))
  return assertStatus(
    await patient.call('POST', 'procedure/bloodpressure', { carePlanId, ...HIGH_PRESSURE }),
    201,
  ).id
}
