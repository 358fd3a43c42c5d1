import assert from 'node:assert/strict'
import {
  addParticipant,
  createGoal,
  createPatient,
  createPlan,
  createTask,
  type Patient,
  readAudit,
} from '../../harness/care/patients.ts'
import { assertProblem, assertProblemPlaces, assertStatus } from '../../harness/clients/path-client.ts'
import { assertShape, readCorpusFile } from '../../harness/corpus.ts'
import { createPerson } from '../../harness/people/people.ts'
import { assertNoScan, recordCommands } from '../../harness/service/database-commands.ts'

interface Event {
  id: string
  kind: string
  group: string
  type: string
  content: string
  start: string
  end: string | null
  ongoing: boolean
  summary: string | null
  href: string | null
  compositionId: string | null
  values: object[]
  code: { system: string; code: string } | null
  severity: number | null
}

interface Union {
  coll: string
  pipeline: [{ $match: object }]
}

const timeOf = (day: number, hour = 8) => new Date(Date.UTC(2025, 2, day, hour)).toISOString()

describe('the timeline of an EHR', () => {
  let patient: Patient
  let planId: string
  const show = async (query = '', who: { call: Patient['call'] } = patient) =>
    assertStatus(await who.call('GET', `/ehr/${patient.ehrId}/summary/timeline${query}`))
  const events = async (query = ''): Promise<Event[]> => (await show(query)).events
  const pressure = async (timestamp: string, systolic = 118) =>
    assertStatus(
      await patient.call('POST', 'procedure/bloodpressure', {
        carePlanId: planId,
        timestamp,
        systolic,
        systolicUnit: 'mm[Hg]',
        diastolic: 76,
        diastolicUnit: 'mm[Hg]',
      }),
      201,
    ).id
  const march = `from=${timeOf(1, 0)}&to=${timeOf(31, 0)}`

  before(async () => {
    patient = await createPatient()
    planId = await createPlan(patient, { actualStartDate: '2025-02-01' })
    assertStatus(await patient.call('PUT', `careplan/${planId}/thresholds`, { bloodpressure: 'esc2018' }))
    await pressure(timeOf(3))
    await pressure(timeOf(5), 182)
    const weight = { carePlanId: planId, timestamp: timeOf(4), weight: 160, weightUnit: '[lb_av]' }
    assertStatus(await patient.call('POST', 'procedure/bodyweight', weight), 201)
    const trip = {
      type: 'trip',
      title: 'In the mountains',
      start: timeOf(2),
      end: timeOf(9),
      carePlanId: planId,
    }
    assertStatus(await patient.call('POST', `/med/${patient.ehrId}/event`, trip), 201)
    const goalId = await createGoal(patient, planId)
    const taskId = await createTask(patient, planId, goalId)
    assertStatus(
      await patient.call('POST', `careplan/${planId}/goal/${goalId}/task/${taskId}/close`, {
        outcome: 'Done',
      }),
    )
  })

  it('contains all kinds by their start, in the fields of vis-timeline', async () => {
    const { groups, events, page, ...rest } = await show()
    assert.deepEqual(
      events.map(({ kind, group, type, content }: Event) => [kind, group, type, content]),
      [
        ['task', 'plans', 'range', 'Buy shoes'],
        ['goal', 'plans', 'range', 'Walk'],
        ['alert', 'alerts', 'point', 'Blood pressure 182/76 mmHg: Hypertension grade 3'],
        ['bloodpressure', 'measurements', 'point', 'Blood pressure 182/76 mmHg'],
        ['bodyweight', 'measurements', 'point', 'Body weight 72.57 kg'],
        ['bloodpressure', 'measurements', 'point', 'Blood pressure 118/76 mmHg'],
        ['event', 'events', 'range', 'In the mountains'],
        ['careplan', 'plans', 'range', 'Lower blood pressure'],
      ],
    )
    assert.deepEqual(page, { limit: 100, next: null, prev: null, order: 'desc' })
    assert.deepEqual([rest.ehrId, rest.from, rest.to], [patient.ehrId, null, null])
    const ids = new Set(groups.map(({ id }: { id: string }) => id))
    assert.ok(events.every(({ group }: Event) => ids.has(group)))
  })

  it('marks ongoing and past items, each with a link', async () => {
    const allEvents = await events()
    const eventOf = (kind: string) => allEvents.find((one) => one.kind === kind) as Event
    const [plan, goal, task, weight] = ['careplan', 'goal', 'task', 'bodyweight'].map(eventOf) as Event[]
    assert.deepEqual([plan?.start, plan?.end, plan?.ongoing], ['2025-02-01T00:00:00.000Z', null, true])
    assert.equal(goal?.ongoing, true)
    assert.equal(task?.ongoing, false)
    assert.ok(task?.end && task.end >= task.start)
    assert.equal(task?.summary, 'COMPLETED: Done')
    assert.deepEqual(weight?.values, [{ name: 'weight', value: 72.5748, unit: 'kg' }])
    assert.deepEqual(
      [weight?.code, plan?.compositionId],
      [{ system: 'http://loinc.org', code: '29463-7' }, null],
    )
    assert.deepEqual(
      [weight?.severity, eventOf('bloodpressure').severity, eventOf('alert').severity],
      [null, 5, 4],
    )
    for (const { href } of [weight, plan, goal] as Event[])
      assertStatus(await patient.call('GET', href ?? ''))
    assert.equal(assertStatus(await patient.call('GET', weight?.href ?? '')).id, weight?.compositionId)
  })

  it('links to records with natural keys', async () => {
    const other = await createPatient()
    const path = `adversereaction/${encodeURIComponent('Salz / 50 %')}`
    assertStatus(await other.call('PUT', path, { firstOnset: '2025-03-01' }), 201)
    const { events } = assertStatus(await other.call('GET', `/ehr/${other.ehrId}/summary/timeline`))
    const [{ href }] = events.filter(({ kind }: Event) => kind === 'reaction')
    assert.equal(assertStatus(await other.call('GET', href)).substance, 'Salz / 50 %')
  })

  it('has the prescribed schema', async function () {
    const { page: _, ...example } = readCorpusFile<{ page: object }>(this, 'vectors/timeline-example.json')
    // Codes are shown in their author's words, not in those of the code system.
    const withoutDisplays = JSON.parse(
      JSON.stringify(example, (name, value) => (name === 'display' ? undefined : value)),
    )
    assertShape(await show('?kinds=bloodpressure'), withoutDisplays)
  })

  it('is filtered by kinds and by time, with items that overlap it', async () => {
    const kinds = async (query: string) => (await events(query)).map(({ kind }) => kind)
    assert.deepEqual(await kinds(`?from=${timeOf(4, 0)}&to=${timeOf(5, 0)}`), [
      'bodyweight',
      'event',
      'careplan',
    ])
    assert.deepEqual(await kinds(`?from=${timeOf(10, 0)}&to=${timeOf(11, 0)}`), ['careplan'])
    assert.deepEqual(await kinds(`?to=2025-02-02T00:00:00Z`), ['careplan'])
    assert.deepEqual(await kinds(`?from=1000-01-01T00:00:00Z&to=2000-01-01T00:00:00Z`), [])
    assert.deepEqual(await kinds('?kinds=alert'), ['alert'])
    const days = await show('?from=2025-03-04&to=2025-03-05&kinds=bodyweight,bloodpressure')
    assert.deepEqual([days.from, days.to], ['2025-03-04T00:00:00Z', '2025-03-05T00:00:00Z'])
    assert.deepEqual(
      days.events.map(({ kind }: Event) => kind),
      ['bodyweight'],
    )
    assert.deepEqual(await kinds('?kinds=event,bodyweight&order=asc'), ['event', 'bodyweight'])
    assert.deepEqual(await kinds('?kinds=event&kinds=careplan'), ['event', 'careplan'])
  })

  it('contains what begins within the period, even with an end that is a day before', async () => {
    const other = await createPatient()
    const otherPlan = await createPlan(other)
    const goalId = await createGoal(other, otherPlan)
    const taskId = await createTask(other, otherPlan, goalId)
    const from = new Date(Date.now() - 1000).toISOString()
    const achievementDate = from.slice(0, 10)
    const goal = `careplan/${otherPlan}/goal/${goalId}`
    assertStatus(await other.call('POST', `${goal}/task/${taskId}/close`, { achievementDate }))
    assertStatus(await other.call('POST', `${goal}/close`, { achievementDate }))
    assertStatus(await other.call('POST', 'diagnosis', { name: 'Flu', resolved: '2010-01-01' }), 201)
    const { events } = assertStatus(
      await other.call('GET', `summary/timeline?kinds=goal,task,diagnosis&from=${from}`),
    )
    assert.deepEqual(events.map(({ kind }: Event) => kind).sort(), ['diagnosis', 'goal', 'task'])
  })

  it('is paged in either order, without duplicates or gaps', async () => {
    const more = Array.from({ length: 12 }, (_, i) => pressure(timeOf(20, i % 3)))
    await Promise.all(more)
    for (const order of ['asc', 'desc']) {
      const allIds = (await events(`?${march}&order=${order}`)).map(({ id }) => id)
      assert.ok(allIds.length >= 16)
      for (const limit of [1, 2, 5]) {
        const pagedIds: string[] = []
        let cursor = ''
        do {
          const { events, page } = await show(`?${march}&order=${order}&limit=${limit}${cursor}`)
          pagedIds.push(...events.map(({ id }: Event) => id))
          cursor = page.next === null ? '' : `&cursor=${page.next}`
        } while (cursor !== '' && pagedIds.length < 100)
        assert.deepEqual(pagedIds, allIds, `${order}, ${limit} at a time`)
      }
    }
  })

  it('is paged back, and stays within its period with any cursor', async () => {
    const ids = ({ events }: { events: Event[] }) => events.map(({ id }) => id)
    for (const order of ['asc', 'desc']) {
      const path = `?${march}&order=${order}&limit=4`
      const first = await show(path)
      const second = await show(`${path}&cursor=${first.page.next}`)
      const third = await show(`${path}&cursor=${second.page.next}`)
      const back = await show(`${path}&cursor=${third.page.prev}`)
      assert.deepEqual([ids(back), back.page.next], [ids(second), second.page.next])
      const start = await show(`${path}&cursor=${back.page.prev}`)
      assert.deepEqual([ids(start), start.page.prev, first.page.prev], [ids(first), null, null])
      const otherPeriod = `?from=${timeOf(3)}&to=${timeOf(4)}&kinds=bodyweight&order=${order}`
      assert.deepEqual(ids(await show(`${otherPeriod}&cursor=${first.page.next}`)), [])
    }
  })

  it('shows a participant the records of the plan, and a stranger nothing', async () => {
    const [nurse, other, stranger] = await Promise.all([createPerson(), createPerson(), createPerson()])
    await addParticipant(planId, nurse, 'read')
    await addParticipant(await createPlan(patient, { name: 'Another' }), other, 'read')
    const kindsFor = async (who: typeof nurse) =>
      new Set((await show('?limit=1000', who)).events.map(({ content, kind }: Event) => `${kind} ${content}`))
    const mine = await kindsFor(nurse)
    const theirs = await kindsFor(other)
    assert.ok(mine.has('careplan Lower blood pressure') && mine.has('bodyweight Body weight 72.57 kg'))
    assert.deepEqual([...theirs], ['careplan Another'])
    assertProblem(await stranger.call('GET', `/ehr/${patient.ehrId}/summary/timeline`), 404, 'not-found')
    assertProblem(await stranger.call('GET', `/ehr/${patient.ehrId}/summary/medgraph`), 404, 'not-found')
  })

  it('is audited with the records that it showed', async () => {
    const since = new Date()
    await show(`?from=${timeOf(4, 0)}&to=${timeOf(5, 0)}&kinds=bodyweight`)
    assert.deepEqual(await readAudit(patient.ehrId, since), ['query BodyWeight done'])
  })

  it('scans no whole collection, and neither does the graph', async () => {
    const commands = await recordCommands(async () => {
      await show(`?${march}`)
      await show('?limit=2&order=asc')
      assertStatus(await patient.call('GET', `summary/medgraph?${march}`))
    }, /plan/)
    assert.ok(commands.length > 30)
    await assertNoScan(commands)
  })

  it('queries only kinds with data in the EHR, which an index finds', async () => {
    const one = await createPatient()
    await createPlan(one)
    const commands = await recordCommands(async () => assertStatus(await one.call('GET', 'summary/timeline')))
    const [aggregation, ...others] = commands.filter(({ commandName }) => commandName === 'aggregate')
    assert.deepEqual(others, [])
    const joined = aggregation?.pipeline.flatMap((stage: { $unionWith?: Union }) => stage.$unionWith ?? [])
    assert.ok(joined.length >= 15)
    await assertNoScan(
      joined.map(({ coll, pipeline: [{ $match: filter }] }: Union) => ({
        commandName: 'find',
        find: coll,
        filter,
      })),
    )
    const finds = commands.flatMap(({ commandName, find }) => (commandName === 'find' ? [find] : []))
    assert.deepEqual([aggregation?.aggregate, ...new Set(finds)], ['Ehr', 'CarePlan'])
  })

  it('refuses invalid parameters by name', async () => {
    const refusedPlaces = async (query: string) =>
      assertProblemPlaces(await patient.call('GET', `summary/timeline?${query}`), 400, 'invalid-input')
    assert.deepEqual(await refusedPlaces(`from=${timeOf(3)}&to=${timeOf(2)}`), ['query.to'])
    assert.deepEqual(await refusedPlaces('from=yesterday&limit=1001&order=up&points=1'), [
      'query.points',
      'query.from',
      'query.limit',
      'query.order',
    ])
    assert.deepEqual(await refusedPlaces('kinds=shoes,alert,__proto__'), ['query.kinds', 'query.kinds'])
    const noKinds = `kinds=shoes&limit=0&from=${timeOf(3)}&to=${timeOf(2)}`
    assert.deepEqual(await refusedPlaces(noKinds), ['query.kinds', 'query.limit', 'query.to'])
    const list = assertStatus(await patient.call('GET', 'procedure/bloodpressure?limit=1')).page.next
    const { next } = (await show('?limit=1')).page
    assertProblem(
      await patient.call('GET', `summary/timeline?order=asc&cursor=${next}`),
      400,
      'malformed-request',
    )
    for (const cursor of [list, 'x', Buffer.from('["timeline","v",1,"a"]').toString('base64url')])
      assertProblem(await patient.call('GET', `summary/timeline?cursor=${cursor}`), 400, 'malformed-request')
  })
})
