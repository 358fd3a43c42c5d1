import assert from 'node:assert/strict'
import type { PlanRight } from '../../../records/ehrs/rights/access.ts'
import { setPlanRole } from '../../../records/ehrs/rights/roles.ts'
import { ok } from '../clients/path-client.ts'
import { newPerson, type Person } from '../people/people.ts'
import { service } from '../service/service.ts'

/** Somebody with the EHR that came with the account. Paths without a leading slash are below that EHR. */
export interface Patient extends Person {
  ehrId: string
}

export async function newPatient(): Promise<Patient> {
  const person = await newPerson()
  const { body } = await person.call('GET', '/ehr')
  assert.equal(body.items.length, 1, JSON.stringify(body))
  return inEhr(person, body.items[0].id)
}

/** An EHR about somebody else, by one who works in it. */
export const newEhrAbout = async ({ mvUid }: Person, creator: Person): Promise<Patient> =>
  inEhr(creator, ok(await creator.call('POST', '/ehr', { subjectId: mvUid }), 201).id)

function inEhr(person: Person, ehrId: string): Patient {
  const call: Person['call'] = (method, path, ...more) =>
    person.call(method, path.startsWith('/') ? path : `/ehr/${ehrId}/${path}`, ...more)
  return { ...person, ehrId, call }
}

export const newPlan = async (patient: Patient, more: object = {}): Promise<string> =>
  ok(await patient.call('POST', 'careplan', { name: 'Lower blood pressure', ...more }), 201).id

export const newGoal = async (patient: Patient, planId: string, more: object = {}): Promise<string> =>
  ok(await patient.call('POST', `careplan/${planId}/goal`, { name: 'Walk', ...more }), 201).id

export const newWeight = async (patient: Patient, carePlanId: string, weight = 70): Promise<string> => {
  const body = { carePlanId, weight, weightUnit: 'kg', timestamp: '2026-03-01T08:30:00Z' }
  return ok(await patient.call('POST', 'procedure/bodyweight', body), 201).id
}

export const newTask = async (
  patient: Patient,
  planId: string,
  goalId: string,
  more: object = {},
): Promise<string> => {
  const path = `careplan/${planId}/goal/${goalId}/task`
  return ok(await patient.call('POST', path, { name: 'Buy shoes', ...more }), 201).id
}

/** Lets somebody into a care plan, as an invitation to it does. */
export async function letIn(planId: string, { mvUid }: Person, right: PlanRight): Promise<void> {
  const { client, db } = service
  const plan = await db.collection<{ _id: string; ehrId: string }>('CarePlan').findOne({ _id: planId })
  const role = { ehrId: plan?.ehrId ?? '', carePlanId: planId, right }
  await client.withSession((session) =>
    session.withTransaction(() => setPlanRole({ client, db }, session, mvUid, role, true)),
  )
}

/** What the audit holds of an EHR since a moment: `read CarePlan done`. */
export async function auditOf(ehrId: string, since = new Date(0)): Promise<string[]> {
  const entries = await service.db
    .collection('audit.entries')
    .find({ ehrId, at: { $gte: since } })
    .sort({ at: 1 })
    .toArray()
  return entries.map(({ action, type, outcome }) => `${action} ${type} ${outcome}`)
}
