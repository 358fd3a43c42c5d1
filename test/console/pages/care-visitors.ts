import { DAY_MS } from '../../../schemas/time/durations.ts'
import {
  addParticipant,
  createAlert,
  createGoal,
  createPatient,
  createPlan,
  createTask,
  type Patient,
} from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { createPressureComposition, getStoredTemplate } from '../../harness/openehr-samples.ts'
import { createPerson, nameProfile } from '../../harness/people/people.ts'
import type { PageOfRole, Visitor } from './visitor.ts'

const DAYS = 40

export const PATIENT_PAGES: readonly PageOfRole[] = [
  ['home', ''],
  ['measure', 'measure'],
  ['measure, two values', 'measure?kind=bloodpressure'],
  ['measure, a computed value', 'measure?kind=bmi'],
  ['questionnaire', 'measure/questionnaire/dsmq'],
  ['questionnaire, answers', 'measure/questionnaire/acq?question=8'],
  ['overview', 'overview'],
  ['overview, all', 'overview?period=all'],
  ['overview, one kind', 'overview?kind=bodyweight&period=all'],
  ['plan', 'plan'],
  ['new plan', 'plan/new'],
  ['goal', 'plan/{plan}/goal/{goal}'],
  ['new goal', 'plan/{plan}/goal/new'],
  ['goals of a template', 'plan/{plan}/template'],
  ['new task', 'plan/{plan}/goal/{goal}/task/new'],
  ['messages', 'messages'],
  ['new message', 'messages/new'],
  ['topic', 'messages/{topic}'],
  ['topic of a plan', 'messages/{plan}/{planTopic}'],
  ['record', 'record'],
  ['timeline', 'record/timeline'],
  ['deleted', 'record/deleted'],
  ['history', 'history/careplan/{plan}/goal/{goal}'],
  ['history of a document', 'history/composition/{document}'],
  ['access', 'access'],
  ['account', 'account'],
  ['unknown', 'nowhere'],
]

const PATIENT = 'patients/{ehr}'

export const NURSE_PAGES: readonly PageOfRole[] = [
  ['worklist', 'worklist'],
  ['worklist, filtered', 'worklist?reason=MISSED'],
  ['patient', PATIENT],
  ['patient, one kind', `${PATIENT}?kind=bodyweight&period=all`],
  ['patient, goals of a template', `${PATIENT}/plan/{plan}/template`],
  ['patient, new goal', `${PATIENT}/plan/{plan}/goal/new`],
  ['patient, new task', `${PATIENT}/plan/{plan}/goal/{goal}/task/new`],
  ['patient, messages', `${PATIENT}/messages`],
  ['patient, new message', `${PATIENT}/messages/new`],
  ['patient, topic', `${PATIENT}/messages/{topic}`],
  ['patient, topic of a plan', `${PATIENT}/messages/{plan}/{planTopic}`],
  ['patient, goal', `${PATIENT}/plan/{plan}/goal/{goal}`],
  ['patient, alert rules', `${PATIENT}/plan/{plan}/alerts`],
  ['patient, thresholds', `${PATIENT}/plan/{plan}/thresholds`],
  ['patient, record', `${PATIENT}/record`],
  ['patient, timeline', `${PATIENT}/record/timeline`],
  ['patient, deleted', `${PATIENT}/record/deleted`],
  ['patient, history', `${PATIENT}/history/procedure/bodyweight/{weight}`],
  ['patient, history of a goal', `${PATIENT}/history/careplan/{plan}/goal/{goal}`],
]

/** A patient with something on each page, and a nurse who looks at it. */
export async function createPatientAndNurse(): Promise<{ patient: Visitor; nurse: Visitor }> {
  const [patient, nurse] = await Promise.all([createPatient(), createPerson()])
  const plan = await createPlan(patient, { description: 'Below 140/90 by the summer' })
  const goal = await createGoal(patient, plan)
  await createTask(patient, plan, goal, { dueDate: '2026-01-05' })
  const walk = { name: 'Walk', notes: 'With the dog' }
  assertStatus(await patient.call('PUT', `careplan/${plan}/goal/${goal}`, walk))
  await addParticipant(plan, nurse, 'write')
  await nameProfile(patient, 'Anna de Vries', { birthDate: '1961-04-30', gender: 'FEMALE' })
  assertStatus(await patient.call('PUT', `/auth/account/${patient.mvUid}`, { name: 'Anna de Vries' }))
  await nameProfile(nurse, 'Nurse Bo')
  assertStatus(await nurse.call('PUT', `/auth/account/${nurse.mvUid}`, { name: 'Nurse Bo' }))
  const weight = await createWeights(patient, plan)
  const alert = await createAlert(patient, plan)
  // The page of the patient would mark it, so that pages would depend on the order of visits.
  assertStatus(await nurse.call('POST', `/ehr/${patient.ehrId}/alert/${alert}/handle`, { action: 'SEE' }))
  await createTopic(patient, 'The old tablets')
  const topic = await createTopic(patient, 'The new tablets')
  const planTopic = await createTopic(patient, 'The next visit', `careplan/${plan}`)
  // The other one stays unread, whichever page the nurse looks at.
  for (const read of [`ehr/${patient.ehrId}/${topic}`, `careplan/${plan}/${planTopic}`])
    assertStatus(await nurse.call('POST', `/chat/${read}/read`, {}), 204)
  await createConditions(patient)
  assertStatus(await nurse.call('GET', `/ehr/${patient.ehrId}/careplan/${plan}`))
  const document = await createDocument(patient)
  const ids = { ehr: patient.ehrId, plan, goal, topic, planTopic, weight, document }
  return { patient: { who: patient, ids }, nurse: { who: nurse, ids } }
}

async function createTopic(patient: Patient, title: string, about = `ehr/${patient.ehrId}`): Promise<string> {
  const message = { title, text: 'Do they go with the others?' }
  return assertStatus(await patient.call('POST', `/chat/${about}`, message), 201).id
}

/** A condition and an allergy, and a condition that was deleted. */
async function createConditions(patient: Patient): Promise<void> {
  const pressure = { name: 'High blood pressure', status: 'active' }
  assertStatus(await patient.call('POST', 'diagnosis', pressure), 201)
  const reaction = { substance: 'Penicillin', criticality: 'high' }
  assertStatus(await patient.call('PUT', 'adversereaction/Penicillin', reaction), 201)
  const wrong = assertStatus(await patient.call('POST', 'diagnosis', { name: 'Gout' }), 201)
  assertStatus(await patient.call('DELETE', `diagnosis/${wrong.id}`), 204)
}

/** @returns the id of a composition with two versions */
async function createDocument(patient: Patient): Promise<string> {
  const path = `/med/ehr/${patient.ehrId}/composition`
  const template = await getStoredTemplate()
  const first = await patient.call('POST', `${path}/json`, createPressureComposition(template, 120))
  const { compositionId } = assertStatus(first, 201)
  const second = createPressureComposition(template, 135)
  const condition = { 'if-match': first.etag }
  assertStatus(await patient.call('PUT', `${path}/${compositionId}/json`, second, condition))
  return compositionId
}

/** @returns the id of the latest one, which was corrected once */
async function createWeights(patient: Patient, carePlanId: string): Promise<string> {
  const items = Array.from({ length: DAYS }, (_, day) => ({
    kind: 'bodyweight',
    carePlanId,
    weight: 80 + Math.sin(day) + day / 20,
    weightUnit: 'kg',
    timestamp: new Date(Date.now() - day * DAY_MS).toISOString(),
  }))
  assertStatus(await patient.call('POST', 'procedure/batch', { items }))
  const [latest] = assertStatus(await patient.call('GET', 'procedure/bodyweight?limit=1')).items
  const { kind: _, ...first } = items[0] ?? { kind: '' }
  assertStatus(await patient.call('PUT', `procedure/bodyweight/${latest.id}`, { ...first, weight: 81 }))
  return latest.id
}
