import { isDeepStrictEqual } from 'node:util'
import type { Access } from '../../../path-api/operation/access.ts'
import { ehrRole } from '../../../records/ehrs/rights/access.ts'
import { setRole } from '../../../records/ehrs/rights/roles.ts'
import { ok } from '../clients/path-client.ts'
import { pressureOf, someTemplate } from '../openehr.ts'
import { newAdmin, newPerson, type Person } from '../people/people.ts'
import { service } from '../service/service.ts'
import { isFullSize } from '../size.ts'
import { letIn, newEhrAbout, newGoal, newPatient, newPlan, newTask, type Patient } from './patients.ts'

/**
 * Everybody who may ask for something in an EHR: its subject and one who writes it besides; participants of a plan, of
 * that plan until they were archived, and of another plan; those who have nothing to do with it, one of them with an EHR
 * about its subject, who has not agreed. Those who may do most
 * come last: what has been closed, say, cannot be closed again.
 */
export const callers = [
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
export type CallerName = (typeof callers)[number]

export type Verdict = 'done' | 401 | 403 | 404

const done = 'done'
const participants = { otherReader: 403, otherWriter: 403, reader: 403, writer: 403, manager: 403 } as const
const rule: Partial<Record<Access, Partial<Record<CallerName, 'done' | 403>>>> = {
  'ehr:read': {
    ...{ subject: done, keeper: done, reader: done, writer: done, manager: done },
    ...{ otherReader: done, otherWriter: done },
  },
  'ehr:write': { subject: done, keeper: done, ...participants },
  'ehr:subject': { subject: done, admin: done, keeper: 403, ...participants },
  'ehr:remove': { subject: done, admin: done, keeper: 403, ...participants },
  'ehr:agree': { subject: done, keeper: 403, ...participants },
  'plan:read': { subject: done, keeper: done, manager: done, writer: done, reader: done },
  'plan:write': { subject: done, keeper: done, manager: done, writer: done, reader: 403 },
  'plan:manage': { subject: done, keeper: done, manager: done, writer: 403, reader: 403 },
}

/** The one table of who may do what, for both families. What is not in it does not exist for the caller. */
export function verdictOf(caller: CallerName, access: Access): Verdict {
  if (caller === 'anonymous') return 401
  if (access === 'user') return done
  if (access === 'admin') return caller === 'admin' ? done : 403
  return rule[access]?.[caller] ?? 404
}

/** Those who may ask while the subject has not agreed to the EHR. */
export const pendingCallers = ['anonymous', 'stranger', 'admin', 'subject', 'creator'] as const
export type PendingCallerName = (typeof pendingCallers)[number]

/** Until the subject agrees, the EHR is its creator's; the subject may agree to it, or remove it. */
export function pendingVerdictOf(caller: PendingCallerName, access: Access): Verdict {
  if (caller === 'creator') return access === 'ehr:agree' ? 403 : verdictOf('subject', access)
  if (caller !== 'subject') return verdictOf(caller, access)
  return access === 'ehr:agree' || access === 'ehr:remove' ? done : verdictOf('stranger', access)
}

/** One of those to whom the same happens, to ask for what is ruled like something that everybody has been asked for. */
export const oneOfEach = <Name>(callers: readonly Name[], fate: (name: Name) => unknown): readonly Name[] =>
  callers.filter(
    (name, i) =>
      isFullSize || !callers.slice(0, i).some((other) => isDeepStrictEqual(fate(other), fate(name))),
  )

export type Ids = Record<string, string>

export interface Cast<Name = CallerName> {
  /** The subject of the EHR, or whoever it is as long as they have not agreed. */
  patient: Patient
  /** Undefined for one who is not logged in. */
  personOf(name: Name): Person | undefined
  /** Somebody who can be let in. */
  guest: Person
  /** Another EHR of the same standing. */
  spare(): Promise<string>
  /** A plan in the EHR with its participants, and everything in it, each with a former version. */
  furnished(): Promise<Ids>
  /** The same with another one of what an id names; another plan has its participants, and nothing else. */
  renewed(ids: Ids, name: string): Promise<Ids>
}

/** An EHR about somebody who has not agreed. */
export async function newPendingCast(): Promise<Cast<PendingCallerName>> {
  const [stranger, admin, subject, creator] = await Promise.all([
    newPerson(),
    newAdmin(),
    newPerson(),
    newPerson(),
  ])
  const patient = await newEhrAbout(subject, creator)
  const people: Partial<Record<PendingCallerName, Person>> = { stranger, admin, subject, creator }
  return {
    patient,
    personOf: (name) => people[name],
    guest: stranger,
    spare: async () => (await newEhrAbout(subject, creator)).ehrId,
    furnished: () => furnish(patient, async () => 'nobody'),
    renewed: (ids, name) => renew(patient, ids, name, async () => 'nobody'),
  }
}

export async function newCast(): Promise<Cast> {
  const patient = await newPatient()
  const names = callers.filter((name) => !['anonymous', 'admin', 'subject'].includes(name))
  const made = await Promise.all(names.map(async (name) => [name, await newPerson()] as const))
  const people: Record<string, Person> = {
    ...Object.fromEntries(made),
    subject: patient,
    admin: await newAdmin(),
  }
  const { connection, archived, otherReader, otherWriter, reader, writer, manager, keeper } =
    people as Record<CallerName, Person>
  await newEhrAbout(patient, people.planter as Person)
  const other = await newPlan(patient)
  await letIn(other, otherReader, 'read')
  await letIn(other, otherWriter, 'write')
  await service.client.withSession((session) =>
    session.withTransaction(() =>
      setRole(service, session, keeper.mvUid, ehrRole(patient.ehrId, 'write'), true),
    ),
  )
  for (const [one, two] of [
    [patient, connection],
    [connection, patient],
  ] as const)
    await one.call('POST', `/profile/${one.mvUid}/network`, { mvUid: two.mvUid })

  /** @returns the id of one participation */
  async function letParticipate(plan: string): Promise<string> {
    const add = async ({ mvUid }: Person, access: string): Promise<string> =>
      ok(await patient.call('POST', `${plan}/participant`, { mvUid, access }), 201).participationId
    await add(writer, 'WRITE')
    await add(manager, 'MANAGE')
    ok(await patient.call('DELETE', `${plan}/participant/${await add(archived, 'WRITE')}`), 204)
    return add(reader, 'READ')
  }
  return {
    patient,
    personOf: (name) => people[name],
    guest: people.stranger as Person,
    spare: async () => ok(await patient.call('POST', '/ehr', {}), 201).id,
    furnished: () => furnish(patient, letParticipate),
    renewed: (ids, name) => renew(patient, ids, name, letParticipate),
  }
}

type LetParticipate = (plan: string) => Promise<string>

async function newPlanIds(patient: Patient, letParticipate: LetParticipate): Promise<Ids> {
  const careplanId = await newPlan(patient, { language: 'en' })
  const participationId = await letParticipate(`careplan/${careplanId}`)
  return { careplanId, carePlanId: careplanId, ownerId: careplanId, participationId }
}

async function newComposition(patient: Patient, careplanId: string): Promise<Ids> {
  const template = await someTemplate()
  const compositions = `/med/ehr/${patient.ehrId}/composition/json?carePlanId=${careplanId}`
  const { compositionId } = ok(await patient.call('POST', compositions, pressureOf(template, 142)), 201)
  return { compositionId, template }
}

async function furnish(patient: Patient, letParticipate: LetParticipate): Promise<Ids> {
  const plan = await newPlanIds(patient, letParticipate)
  const { careplanId = '' } = plan
  const goalId = await newGoal(patient, careplanId)
  const taskId = await newTask(patient, careplanId, goalId)
  const path = `careplan/${careplanId}`
  for (const one of [path, `${path}/goal/${goalId}`, `${path}/goal/${goalId}/task/${taskId}`])
    ok(await patient.call('PUT', one, { name: 'second' }))
  const composition = await newComposition(patient, careplanId)
  return { ...plan, ...composition, guidelineId: 'asthma', ehrId: patient.ehrId, goalId, taskId }
}

async function renew(patient: Patient, ids: Ids, name: string, letParticipate: LetParticipate): Promise<Ids> {
  const { careplanId = '', goalId = '' } = ids
  if (name === 'taskId') return { ...ids, taskId: await newTask(patient, careplanId, goalId) }
  if (name === 'goalId') return { ...ids, goalId: await newGoal(patient, careplanId) }
  if (name === 'ehrId') return ids
  if (name === 'compositionId') return { ...ids, ...(await newComposition(patient, careplanId)) }
  return { ...ids, ...(await newPlanIds(patient, letParticipate)) }
}
