import assert from 'node:assert/strict'
import type { TSchema } from '@sinclair/typebox'
import { exampleOf } from '../../path-api/documentation/example.ts'
import type { Operation } from '../../path-api/operation/operation.ts'
import { operationTable } from '../../path-api/operation-table.ts'
import { CLASS_NAMES, type ClassName, classKindOf } from '../../records/kinds.ts'
import { restIdsOf } from '../conformance/openehr-rest/rest-requests.ts'
import { byClass, newPlace, type Place } from '../family-kinds.ts'
import { Random } from '../fuzz/generator/context/random.ts'
import { AqlQueryGenerator } from '../fuzz/openehr/aql-queries.ts'
import { tracesOf } from '../harness/care/audit-traces.ts'
import {
  addParticipant,
  createEhrAbout,
  createPatient,
  createPlan,
  createTask,
  type Patient,
} from '../harness/care/patients.ts'
import { exampleObject, fillPath, parentIdsOf } from '../harness/care/samples/examples.ts'
import { parseDate } from '../harness/clients/class-client.ts'
import { createConnectMessage, openRawSocket } from '../harness/clients/live-client.ts'
import { type Answer, assertStatus } from '../harness/clients/path-client.ts'
import { createPressureComposition, getStoredTemplate } from '../harness/openehr-samples.ts'
import { createPerson, createRoleHolder, type Person } from '../harness/people/people.ts'
import { bySize } from '../harness/test-size.ts'

const LATER = '2199-01-01T00:00:00.000Z'

/** Values of a query parameter, some of which narrow the query until it finds nothing. */
function* valuesOf({ enum: values, format, type, ...schema }: TSchema): Generator<string> {
  if (values) return yield* values.map(String)
  if (schema.anyOf) return yield* new Set((schema.anyOf as TSchema[]).flatMap((one) => [...valuesOf(one)]))
  if (format === 'date-time') return yield* [LATER, '1999-01-01T00:00:00Z']
  if (format === 'date') return yield* [LATER.slice(0, 10), '1999-01-01']
  if (type === 'boolean') return yield* ['true', 'false']
  if (type === 'integer' || type === 'number') return yield* ['1', '0']
  yield* [String(exampleOf({ type, format, ...schema } as TSchema)), 'zzzz']
  if (new RegExp(schema.pattern ?? '$^').test(LATER)) yield LATER
}

/** Operations that read the data of an EHR or a user, and can be narrowed. */
const isNarrowed = ({ method, path, query, access }: Operation): boolean =>
  method === 'get' &&
  Object.keys(query.properties).length > 0 &&
  /^(ehr|plan):read$|^user-data$/.test(access) &&
  !/audit|history|changes/.test(path)

describe('attack: narrow a query step by step', function suite() {
  this.timeout(bySize(60_000, 600_000))
  let patient: Patient
  let quiet: Patient
  let nurse: Person
  let place: Place
  let ids: Record<string, string>
  let allIds: string[]

  before(async () => {
    ;[{ patient, place }, quiet, nurse] = await Promise.all([newPlace(), createPatient(), createPerson()])
    await addParticipant(place.carePlanId, nurse, 'read')
    await addParticipant(await createPlan(quiet), nurse, 'read')
    for (const name of CLASS_NAMES.filter((one) => !classKindOf(one).readOnly && one !== 'Ehr'))
      await byClass(patient)
        .post(name, { ...parentIdsOf(name, place), ...exampleObject(name) })
        .expect(201)
    const taskId = await createTask(patient, place.carePlanId, place.goalId)
    const composition = createPressureComposition(await getStoredTemplate(), 120)
    const path = `/med/ehr/${place.ehrId}/composition/json?carePlanId=${place.carePlanId}`
    const { compositionId } = assertStatus(await patient.call('POST', path, composition), 201)
    const eventId = 'fall'
    ids = { ...place, ownerId: place.carePlanId, mvUid: patient.mvUid, taskId, compositionId, eventId }
    const ownEhrs = (await nurse.call('GET', '/ehr')).body.items
    allIds = ownEhrs.map(({ id }: { id: string }) => `${id} query done`).sort()
    assert.equal(allIds.length, 3)
  })

  const narrowed = operationTable.filter(isNarrowed)

  it('is tried at every operation with parameters that reads data of an EHR', () => {
    assert.ok(narrowed.length > 30, String(narrowed.length))
  })

  for (const operation of narrowed)
    it(`leaves the same entries however ${operation.id} is narrowed`, async () => {
      const { properties, required = [] } = operation.query
      const requiredParameters = required.map((name) => [
        name,
        String(exampleOf(properties[name] as TSchema)),
      ])
      const path = fillPath(
        operation.path,
        operation.api === 'openehr' ? await restIdsOf(operation, patient, ids) : ids,
      )
      const ask = async (...more: string[][]): Promise<[Answer, string[]]> => {
        const query = new URLSearchParams([...requiredParameters, ...more] as [string, string][])
        let answer: Answer | undefined
        const traces = await tracesOf(nurse, async () => {
          answer = await nurse.call('GET', `${path}?${query}`)
        })
        return [answer as Answer, traces]
      }
      const [whole, expected] = await ask()
      assertStatus(whole)
      assert.deepEqual(
        expected.map((entry) => entry.split(' ')[0]),
        [place.ehrId],
        operation.id,
      )
      let answeredCount = 0
      for (const [name, schema] of Object.entries<TSchema>(properties))
        for (const value of valuesOf(schema)) {
          const [answer, traces] = await ask([name, value])
          if (answer.status !== 200) {
            assert.ok([400, 404, 422].includes(answer.status), `${name}=${value}: ${answer.status}`)
            continue
          }
          answeredCount++
          assert.deepEqual(traces, expected, `${name}=${value}`)
        }
      assert.ok(answeredCount > 0)
    })

  const far = { createdAt: { $gt: parseDate(LATER) } }
  const list = (className: string, where: object, more: object = {}) =>
    byClass(nurse)
      .list(className, where as never, more as never)
      .expect(200)

  /** Ways in which a client learns whether a condition holds. */
  const ways: Record<string, (className: ClassName, where: object) => PromiseLike<unknown>> = {
    'a list': (className, where) => list(className, where),
    'a number': (className, where) => list(className, where, { limit: 0, count: 1 }),
    'no results': (className, where) => list(className, where, { limit: 0 }),
    'an offset': (className, where) => list(className, where, { skip: 1000 }),
    'distinct values': (className, where) => list(className, where, { distinct: 'createdAt' }),
    'selected fields': (className, where) => list(className, where, { keys: 'version' }),
    'an alternative': (className, where) => list(className, { $or: [where, far] }),
    'a subquery': (className, where) =>
      list('CarePlan', { objectId: { $select: { key: 'objectId', query: { className, where } } } }),
    'its negation': (className, where) =>
      list('CarePlan', { objectId: { $dontSelect: { key: 'objectId', query: { className, where } } } }),
    'a batch': async (className, where) => {
      const part = { method: 'GET', path: `/1/classes/${className}`, body: { where } }
      const { body } = await byClass(nurse).batch([part]).expect(200)
      assert.ok(body[0].success, JSON.stringify(body))
    },
    'a live query': async (className, where) => {
      const { answer, socket } = await openRawSocket()
      await answer(createConnectMessage({ sessionToken: nurse.sessionToken }))
      const { op } = await answer({ op: 'subscribe', requestId: 1, query: { className, where } })
      assert.equal(op, 'subscribed')
      socket.close()
    },
  }

  for (const name of CLASS_NAMES)
    it(`leaves an entry in each EHR however a query of the class ${name} is asked`, async () => {
      for (const [i, [way, ask]] of Object.entries(ways).entries()) {
        // At the usual size, each class is asked in every third way.
        if ((CLASS_NAMES.indexOf(name) + i) % bySize(3, 1) !== 0) continue
        for (const where of [
          {},
          far,
          { objectId: { $exists: true } },
          { createdAt: { $lt: parseDate(LATER) } },
        ])
          assert.deepEqual(
            await tracesOf(nurse, () => ask(name, where)),
            allIds,
            `${way}: ${JSON.stringify(where)}`,
          )
      }
    })

  /** Random queries over what AQL shows of the patient. */
  async function randomQueries(count: number): Promise<string[]> {
    const { rows } = assertStatus(
      await patient.call('POST', '/med/aql', { q: 'SELECT c FROM EHR e CONTAINS COMPOSITION c' }),
    )
    const roots = rows.map(([composition]: [never]) => composition)
    assert.ok(roots.length > 5, String(roots.length))
    return Array.from({ length: count }, (_, seed) => new AqlQueryGenerator(roots, new Random(seed)).next())
  }

  it('leaves an entry in each EHR whatever a query of AQL finds, and for its plan', async () => {
    let matchCount = 0
    let empty = 0
    for (const q of await randomQueries(bySize(30, 150))) {
      let answer: Answer | undefined
      const run = await tracesOf(nurse, async () => {
        answer = await nurse.call('POST', '/med/aql', { q })
      })
      if (answer?.status !== 200) continue
      if (answer.body.rows.length > 0) matchCount++
      else empty++
      assert.deepEqual(run, allIds, q)
      assert.deepEqual(
        await tracesOf(nurse, async () => assertStatus(await nurse.call('POST', '/med/aql/explain', { q }))),
        allIds,
        `explain ${q}`,
      )
    }
    assert.ok(matchCount > 5 && empty > 5, `${matchCount} ${empty}`)
  })

  it('counts for an analyst nothing of EHRs that are pending, deleted or not queryable', async () => {
    const [analyst, planter] = await Promise.all([createRoleHolder('analyst'), createPerson()])
    const queries = await randomQueries(bySize(20, 100))
    const results = async () => {
      const outcomes: [
        q: string,
        status: number,
        rows: number | undefined,
        candidates: unknown,
        measurements: unknown,
      ][] = []
      // One after the other: so many at once are refused.
      for (const q of queries) {
        const { status, body } = await analyst.call('POST', '/med/aql', { q })
        const plan = await analyst.call('POST', '/med/aql/explain', { q })
        outcomes.push([q, status, body.rows?.length, plan.body.candidates, plan.body.measurements])
      }
      return outcomes
    }
    const before = await results()
    const template = await getStoredTemplate()
    const plant = async (ehr: Patient): Promise<void> => {
      const carePlanId = await createPlan(ehr)
      const parentIds = { ehrId: ehr.ehrId, carePlanId, goalId: '' }
      for (const name of CLASS_NAMES.filter(
        (one) => classKindOf(one).parentType === 'plan' && one !== 'Goal',
      ))
        await byClass(ehr)
          .post(name, { ...parentIdsOf(name, parentIds), ...exampleObject(name) })
          .expect(201)
      const composition = createPressureComposition(template, 120)
      assertStatus(await ehr.call('POST', `/med/ehr/${ehr.ehrId}/composition/json`, composition), 201)
    }
    const [deleted, hidden] = await Promise.all([createPatient(), createPatient()])
    for (const ehr of [await createEhrAbout(patient, planter), deleted, hidden]) await plant(ehr)
    assertStatus(await deleted.call('DELETE', `/med/ehr/${deleted.ehrId}`), 204)
    const { uid: _, ...status } = assertStatus(await hidden.call('GET', `/med/ehr/${hidden.ehrId}/status`))
    const withheld = { ...status, is_queryable: false }
    assertStatus(await hidden.call('PUT', `/med/ehr/${hidden.ehrId}/status`, withheld, { 'if-match': '"1"' }))
    assert.deepEqual(await results(), before)
    assert.ok(before.some(([, status, rows]) => status === 200 && Number(rows) > 0))
  })
})
