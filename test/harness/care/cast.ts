import type { Access } from '../../../path-api/operation/access.ts'
import { ehrRole } from '../../../records/ehrs/access.ts'
import { setRole } from '../../../records/ehrs/roles.ts'
import { ok } from '../clients/path-client.ts'
import { newAdmin, newPerson, type Person } from '../people/people.ts'
import { service } from '../service/service.ts'
import { letIn, newGoal, newPatient, newPlan, newTask, type Patient } from './patients.ts'

/**
 * Everybody who may ask for something in an EHR: its subject and one who writes it besides; participants of a plan, of
 * that plan until they were archived, and of another plan; those who have nothing to do with it. Those who may do most
 * come last: what has been closed, say, cannot be closed again.
 */
export const callers = [
  'anonymous',
  'stranger',
  'connection',
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

export type Ids = Record<string, string>

export interface Cast {
  patient: Patient
  /** Undefined for one who is not logged in. */
  personOf(name: CallerName): Person | undefined
  /** A plan of the patient with its participants, and everything in it, each with a former version. */
  furnished(): Promise<Ids>
}

export async function newCast(): Promise<Cast> {
  const patient = await newPatient()
  const names = [
    'stranger',
    'connection',
    'archived',
    'otherReader',
    'otherWriter',
    'reader',
    'writer',
    'manager',
    'keeper',
  ]
  const made = await Promise.all(names.map(async (name) => [name, await newPerson()] as const))
  const people: Record<string, Person> = {
    ...Object.fromEntries(made),
    subject: patient,
    admin: await newAdmin(),
  }
  const { connection, archived, otherReader, otherWriter, reader, writer, manager, keeper } =
    people as Record<CallerName, Person>
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

  async function furnished(): Promise<Ids> {
    const careplanId = await newPlan(patient, { language: 'en' })
    const goalId = await newGoal(patient, careplanId)
    const taskId = await newTask(patient, careplanId, goalId)
    const plan = `careplan/${careplanId}`
    for (const path of [plan, `${plan}/goal/${goalId}`, `${plan}/goal/${goalId}/task/${taskId}`])
      ok(await patient.call('PUT', path, { name: 'second' }))
    const add = async ({ mvUid }: Person, access: string): Promise<string> =>
      ok(await patient.call('POST', `${plan}/participant`, { mvUid, access }), 201).participationId
    await add(writer, 'WRITE')
    await add(manager, 'MANAGE')
    const participationId = await add(reader, 'READ')
    ok(await patient.call('DELETE', `${plan}/participant/${await add(archived, 'WRITE')}`), 204)
    const plans = { careplanId, carePlanId: careplanId, ownerId: careplanId, guidelineId: 'asthma' }
    return { ...plans, ehrId: patient.ehrId, goalId, taskId, participationId }
  }
  return { patient, personOf: (name) => people[name], furnished }
}
