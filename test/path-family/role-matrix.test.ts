import assert from 'node:assert/strict'
import type { TObject } from '@sinclair/typebox'
import type { Access } from '../../path-api/access.ts'
import { exampleOf } from '../../path-api/example.ts'
import type { Operation } from '../../path-api/operation.ts'
import { table } from '../../path-api/table.ts'
import { classesOf, moment, newPressure } from '../class-family/client.ts'
import { keys } from '../helper.ts'
import { letIn, newGoal, newPatient, newPlan, newTask, ok, type Patient } from './clinic.ts'
import { call, newAdmin, newPerson, type Person } from './people.ts'

const operations = table.filter(({ path }) => /^\/(ehr|med)\b/.test(path))

/** Those who may do it come last: what has been closed, say, cannot be closed again. */
const callers = [
  'anonymous',
  'stranger',
  'connection',
  'archived',
  'other',
  'admin',
  'reader',
  'writer',
  'subject',
] as const
type CallerName = (typeof callers)[number]

/** The participants: of this plan, of this plan until they were archived, and of another plan of the same EHR. */
const done = 'done'
const rule: Partial<Record<Access, Partial<Record<CallerName, 'done' | 403>>>> = {
  'ehr:read': { subject: done, reader: done, writer: done, other: done },
  'ehr:write': { subject: done, reader: 403, writer: 403, other: 403 },
  'ehr:subject': { subject: done, admin: done, reader: 403, writer: 403, other: 403 },
  'plan:read': { subject: done, reader: done, writer: done },
  'plan:write': { subject: done, reader: 403, writer: done },
}

/** What is not in the rule does not exist for the caller. */
function expected(caller: CallerName, { access }: Operation): 'done' | number {
  if (caller === 'anonymous') return 401
  if (access === 'user') return done
  // Nothing has been removed that could be restored.
  if (access === 'admin') return caller === 'admin' ? 404 : 403
  return rule[access]?.[caller] ?? 404
}

type Ids = Record<string, string>

describe('who may do what with an EHR', function () {
  this.timeout(60_000)
  let patient: Patient
  let others: Record<Exclude<CallerName, 'subject' | 'anonymous'>, Person>
  before(async () => {
    patient = await newPatient()
    const [stranger, connection, archived, other, reader, writer] = await Promise.all(
      Array.from({ length: 6 }, () => newPerson()),
    )
    others = {
      stranger,
      connection,
      archived,
      other,
      reader,
      writer,
      admin: await newAdmin(),
    } as typeof others
    await letIn(await newPlan(patient), others.other, 'write')
    const [one, two] = [patient, others.connection]
    await one.call('POST', `/profile/${one.mvUid}/network`, { mvUid: two.mvUid })
    ok(await two.call('POST', `/profile/${two.mvUid}/network`, { mvUid: one.mvUid }), 201)
  })

  /** A plan with everything in it, each with a former version. */
  async function furnished(): Promise<Ids> {
    const careplanId = await newPlan(patient, { language: 'en' })
    const goalId = await newGoal(patient, careplanId)
    const taskId = await newTask(patient, careplanId, goalId)
    const plan = `careplan/${careplanId}`
    for (const path of [plan, `${plan}/goal/${goalId}`, `${plan}/goal/${goalId}/task/${taskId}`])
      ok(await patient.call('PUT', path, { name: 'second' }))
    const add = async ({ mvUid }: Person, access: string): Promise<string> =>
      ok(await patient.call('POST', `${plan}/participant`, { mvUid, access }), 201).participationId
    await add(others.writer, 'WRITE')
    const participationId = await add(others.reader, 'READ')
    ok(await patient.call('DELETE', `${plan}/participant/${await add(others.archived, 'WRITE')}`), 204)
    const event = { carePlanId: careplanId, type: 'visit', title: 'Visit', start: '2026-03-01T08:30:00Z' }
    const eventId = ok(await patient.call('POST', `/med/${patient.ehrId}/event`, event), 201).id
    const plans = { careplanId, ownerId: careplanId, guidelineId: 'asthma' }
    return { ...plans, goalId, taskId, participationId, eventId }
  }

  function bodyOf({ method, path, body }: Operation, ids: Ids): unknown {
    if (!body) return undefined
    const example = exampleOf(body as TObject) as Record<string, unknown>
    for (const name of ['id', 'status', 'participationId', 'mvUid', 'participants']) delete example[name]
    if ('carePlanId' in example) example.carePlanId = ids.careplanId
    return method === 'post' && path.endsWith('/participant')
      ? { ...example, mvUid: others.stranger.mvUid }
      : example
  }

  const send = (name: CallerName, operation: Operation, ids: Ids) => {
    const as = name === 'subject' ? patient.call : name === 'anonymous' ? call : others[name].call
    const path = operation.path.replace(/\{(\w+)\}/g, (_, of: string) => ids[of] ?? of)
    return as(operation.method.toUpperCase(), path, bodyOf(operation, ids))
  }

  for (const operation of operations) {
    it(`${operation.method.toUpperCase()} ${operation.path}`, async () => {
      let ids = await furnished()
      let used = false
      for (const name of callers) {
        const wanted = expected(name, operation)
        if (wanted === done && operation.method !== 'get') {
          if (used) ids = await furnished()
          used = true
        }
        const removes = wanted === done && operation.id === 'deleteEhr'
        const ehrId = removes ? ok(await patient.call('POST', '/ehr', {}), 201).id : patient.ehrId
        const { status, body } = await send(name, operation, { ...ids, ehrId })
        const told = `${name}: ${status} ${JSON.stringify(body)}`
        if (wanted === done) assert.ok([200, 201, 204].includes(status), told)
        else assert.equal(status, wanted, told)
      }
    })
  }

  describe('in the class family', () => {
    const place = ({ careplanId: carePlanId }: Ids) => ({ ehrId: patient.ehrId, carePlanId })
    /** What is registered in a plan, and the change that is tried. */
    const registered: Record<
      string,
      { body(ids: Ids): Record<string, unknown>; change: Record<string, unknown> }
    > = {
      Goal: { body: (ids) => ({ ...place(ids), name: 'Walk' }), change: { name: 'x' } },
      Task: { body: (ids) => ({ ...place(ids), goalId: ids.goalId, name: 'Walk' }), change: { name: 'x' } },
      Event: {
        body: (ids) => ({
          ...place(ids),
          type: 'visit',
          title: 'x',
          start: moment('2026-03-01T08:30:00.000Z'),
        }),
        change: { title: 'x' },
      },
      Custom: { body: (ids) => ({ ...place(ids), modelClassName: 'Mood' }), change: { modelClassName: 'x' } },
      BloodPressure: { body: (ids) => newPressure(ids.careplanId ?? ''), change: { systolic: 130 } },
    }
    const reads = ['subject', 'reader', 'writer']
    const writes = ['subject', 'writer']

    const classesFor = (name: CallerName) => {
      if (name === 'anonymous') return classesOf({ headers: keys() })
      const { sessionToken } = name === 'subject' ? patient : others[name]
      return classesOf({ headers: { ...keys(), 'X-Parse-Session-Token': sessionToken } })
    }

    for (const [className, { body, change }] of Object.entries(registered)) {
      it(className, async () => {
        const ids = await furnished()
        for (const name of callers) {
          const { post, get, list, put, delete: remove } = classesFor(name)
          const refused = name === 'anonymous' ? 401 : 404
          const { objectId } = (await classesFor('subject').post(className, body(ids)).expect(201)).body
          const found = await list(className, { objectId })
          const answers = [
            (await post(className, body(ids))).status,
            (await get(className, objectId)).status,
            found.status,
            found.body.results?.length,
            (await put(className, objectId, change)).status,
            (await remove(className, objectId)).status,
          ]
          const [read, write] = [reads.includes(name), writes.includes(name)]
          assert.deepEqual(
            answers,
            [
              write ? 201 : refused,
              read ? 200 : refused,
              name === 'anonymous' ? 401 : 200,
              name === 'anonymous' ? undefined : Number(read),
              write ? 200 : refused,
              write ? 200 : refused,
            ],
            name,
          )
        }
      })
    }
  })
})
