import { isDeepStrictEqual } from 'node:util'
import type { Access } from '../../../path-api/operation/access.ts'
import { ehrRole } from '../../../records/ehrs/rights/access.ts'
import { setRole } from '../../../records/ehrs/rights/roles.ts'
import { assertStatus } from '../clients/path-client.ts'
import { createPressureComposition, getStoredTemplate } from '../openehr-samples.ts'
import { createAdmin, createPerson, type Person } from '../people/people.ts'
import { service } from '../service/service.ts'
import { isFullSize } from '../test-size.ts'
import { connectUsers } from './owners.ts'
import {
  addParticipant,
  createAlert,
  createEhrAbout,
  createGoal,
  createPatient,
  createPlan,
  createTask,
  type Patient,
} from './patients.ts'

/**
 * All kinds of callers in an EHR:
 * - its subject, and another user who writes it;
 * - participants of a plan, former (archived) participants of it, and participants of another plan;
 * - users without a relation to it. One of them has an EHR about its subject, who has not agreed.
 * Callers with more rights come last, because they can close a record, which cannot be closed again.
 */
export const CALLERS = [
  'anonymous',
  'stranger',
  'connection',
  'planter',
  'archived',
  'otherReader',
  'otherWriter',
  'admin',
  'reader',
  'writer',
  'manager',
  'keeper',
  'subject',
] as const
export type CallerName = (typeof CALLERS)[number]

export type Verdict = 'done' | 401 | 403 | 404

const DONE = 'done'
const PARTICIPANT_VERDICTS = {
  otherReader: 403,
  otherWriter: 403,
  reader: 403,
  writer: 403,
  manager: 403,
} as const
const VERDICTS: Partial<Record<Access, Partial<Record<CallerName, 'done' | 403>>>> = {
  'ehr:read': {
    subject: DONE,
    keeper: DONE,
    reader: DONE,
    writer: DONE,
    manager: DONE,
    otherReader: DONE,
    otherWriter: DONE,
  },
  'ehr:write': { subject: DONE, keeper: DONE, ...PARTICIPANT_VERDICTS },
  'ehr:subject': { subject: DONE, admin: DONE, keeper: 403, ...PARTICIPANT_VERDICTS },
  'ehr:remove': { subject: DONE, admin: DONE, keeper: 403, ...PARTICIPANT_VERDICTS },
  'ehr:agree': { subject: DONE, keeper: 403, ...PARTICIPANT_VERDICTS },
  'plan:read': { subject: DONE, keeper: DONE, manager: DONE, writer: DONE, reader: DONE },
  'plan:write': { subject: DONE, keeper: DONE, manager: DONE, writer: DONE, reader: 403 },
  'plan:delete': { subject: DONE, keeper: DONE, manager: 403, writer: 403, reader: 403 },
  'plan:manage': { subject: DONE, keeper: DONE, manager: DONE, writer: 403, reader: 403 },
}

/** The access table for both families. For callers without an entry, the record does not exist. */
export function verdictOf(caller: CallerName, access: Access): Verdict {
  if (caller === 'anonymous') return 401
  if (access === 'user' || access === 'account') return DONE
  if (access === 'admin') return caller === 'admin' ? DONE : 403
  return VERDICTS[access]?.[caller] ?? 404
}

/** The callers while the subject has not agreed to the EHR. */
export const PENDING_CALLERS = ['anonymous', 'stranger', 'admin', 'subject', 'creator'] as const
export type PendingCallerName = (typeof PENDING_CALLERS)[number]

/** Until the subject agrees, the EHR belongs to its creator. The subject may agree to it or remove it. */
export function pendingVerdictOf(caller: PendingCallerName, access: Access): Verdict {
  if (caller === 'creator') return access === 'ehr:agree' ? 403 : verdictOf('subject', access)
  if (caller !== 'subject') return verdictOf(caller, access)
  return access === 'ehr:agree' || access === 'ehr:remove' ? DONE : verdictOf('stranger', access)
}

/** One caller for each verdict. Used for operations with the same rule as one that all callers have tried. */
export const sampleByVerdict = <Name>(
  callers: readonly Name[],
  fate: (name: Name) => unknown,
): readonly Name[] =>
  callers.filter(
    (name, i) =>
      isFullSize || !callers.slice(0, i).some((other) => isDeepStrictEqual(fate(other), fate(name))),
  )

export type Ids = Record<string, string>

export interface AccessFixture<Name = CallerName> {
  /** The subject of the EHR, or its creator while the subject has not agreed. */
  patient: Patient
  /** Undefined for a caller without a login. */
  getPerson(name: Name): Person | undefined
  /** A user who can be invited. */
  guest: Person
  /** Another EHR in the same state. */
  createSpareEhr(): Promise<string>
  /** A plan in the EHR with its participants and one record of each kind, each with a former version. */
  createRecords(): Promise<Ids>
  /** Replaces one of the records. A new plan has its participants only. */
  replaceRecord(ids: Ids, name: string): Promise<Ids>
}

/** An EHR whose subject has not agreed. */
export async function createPendingAccessFixture(): Promise<AccessFixture<PendingCallerName>> {
  const [stranger, admin, subject, creator] = await Promise.all([
    createPerson(),
    createAdmin(),
    createPerson(),
    createPerson(),
  ])
  const patient = await createEhrAbout(subject, creator)
  const people: Partial<Record<PendingCallerName, Person>> = { stranger, admin, subject, creator }
  return {
    patient,
    getPerson: (name) => people[name],
    guest: stranger,
    createSpareEhr: async () => (await createEhrAbout(subject, creator)).ehrId,
    createRecords: () => createRecordsOfEachKind(patient, async () => 'nobody'),
    replaceRecord: (ids, name) => recreateRecord(patient, ids, name, async () => 'nobody'),
  }
}

export async function createAccessFixture(): Promise<AccessFixture> {
  const patient = await createPatient()
  const names = CALLERS.filter((name) => !['anonymous', 'admin', 'subject'].includes(name))
  const entries = await Promise.all(names.map(async (name) => [name, await createPerson()] as const))
  const people: Record<string, Person> = {
    ...Object.fromEntries(entries),
    subject: patient,
    admin: await createAdmin(),
  }
  const { connection, archived, otherReader, otherWriter, reader, writer, manager, keeper } =
    people as Record<CallerName, Person>
  await createEhrAbout(patient, people.planter as Person)
  const other = await createPlan(patient)
  await addParticipant(other, otherReader, 'read')
  await addParticipant(other, otherWriter, 'write')
  await service.client.withSession((session) =>
    session.withTransaction(() =>
      setRole(service, session, keeper.mvUid, ehrRole(patient.ehrId, 'write'), true),
    ),
  )
  await connectUsers(patient, connection)

  /** @returns the id of the participation */
  async function letParticipate(plan: string): Promise<string> {
    const add = async ({ mvUid }: Person, access: string): Promise<string> =>
      assertStatus(await patient.call('POST', `${plan}/participant`, { mvUid, access }), 201).participationId
    await add(writer, 'WRITE')
    await add(manager, 'MANAGE')
    assertStatus(await patient.call('DELETE', `${plan}/participant/${await add(archived, 'WRITE')}`), 204)
    return add(reader, 'READ')
  }
  return {
    patient,
    getPerson: (name) => people[name],
    guest: people.stranger as Person,
    createSpareEhr: async () => assertStatus(await patient.call('POST', '/ehr', {}), 201).id,
    createRecords: () => createRecordsOfEachKind(patient, letParticipate),
    replaceRecord: (ids, name) => recreateRecord(patient, ids, name, letParticipate),
  }
}

type InviteParticipant = (plan: string) => Promise<string>

async function createPlanIds(patient: Patient, letParticipate: InviteParticipant): Promise<Ids> {
  const careplanId = await createPlan(patient, { language: 'en' })
  const participationId = await letParticipate(`careplan/${careplanId}`)
  return { careplanId, carePlanId: careplanId, ownerId: careplanId, participationId }
}

/** A composition with a former version. */
async function createComposition(patient: Patient, careplanId: string): Promise<Ids> {
  const template = await getStoredTemplate()
  const path = `/med/ehr/${patient.ehrId}/composition`
  const pressure = (systolic: number) => createPressureComposition(template, systolic)
  const response = await patient.call('POST', `${path}/json?carePlanId=${careplanId}`, pressure(142))
  const { compositionId } = assertStatus(response, 201)
  const condition = { 'if-match': response.etag }
  assertStatus(await patient.call('PUT', `${path}/${compositionId}/json`, pressure(143), condition))
  return { compositionId, template }
}

async function createRecordsOfEachKind(patient: Patient, letParticipate: InviteParticipant): Promise<Ids> {
  const plan = await createPlanIds(patient, letParticipate)
  const { careplanId = '' } = plan
  const goalId = await createGoal(patient, careplanId)
  const taskId = await createTask(patient, careplanId, goalId)
  const path = `careplan/${careplanId}`
  for (const one of [path, `${path}/goal/${goalId}`, `${path}/goal/${goalId}/task/${taskId}`])
    assertStatus(await patient.call('PUT', one, { name: 'second' }))
  const composition = await createComposition(patient, careplanId)
  const alertId = await createAlert(patient, careplanId)
  return { ...plan, ...composition, guidelineId: 'asthma', ehrId: patient.ehrId, goalId, taskId, alertId }
}

async function recreateRecord(
  patient: Patient,
  ids: Ids,
  name: string,
  letParticipate: InviteParticipant,
): Promise<Ids> {
  const { careplanId = '', goalId = '' } = ids
  if (name === 'taskId') return { ...ids, taskId: await createTask(patient, careplanId, goalId) }
  if (name === 'goalId') return { ...ids, goalId: await createGoal(patient, careplanId) }
  if (name === 'ehrId') return ids
  if (name === 'compositionId') return { ...ids, ...(await createComposition(patient, careplanId)) }
  return { ...ids, ...(await createPlanIds(patient, letParticipate)) }
}
