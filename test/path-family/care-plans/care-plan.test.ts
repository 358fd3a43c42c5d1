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
import { placesOfViolations } from '../../harness/clients/violation-places.ts'
import { createPerson, type Person } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'

const full = {
  name: 'Lower blood pressure',
  language: 'en',
  description: 'Below 140/90',
  anonymous: true,
  proposedStartDate: '2026-01-01',
  actualStartDate: '2026-01-05',
  dueDate: '2026-06-30',
  notes: 'Measures at home',
}
const nothing = { achievementDate: null, outcome: null, status: 'ACTIVE', goals: [] }

describe('care plans', () => {
  let patient: Patient
  let nurse: Person
  let stranger: Patient
  before(async () => {
    ;[patient, nurse, stranger] = await Promise.all([createPatient(), createPerson(), createPatient()])
  })

  describe('when created', () => {
    it('have all sent fields, and null for the others', async () => {
      const created = await patient.call('POST', 'careplan', full)
      const { id, ...plan } = assertStatus(created, 201)
      assert.deepEqual(plan, { ...full, ...nothing, ehrId: patient.ehrId, version: 1 })
      assert.equal(created.headers.get('location'), `/ehr/${patient.ehrId}/careplan/${id}`)
      const answer = await patient.call('GET', `careplan/${id}`)
      assert.deepEqual(assertStatus(answer), { id, ...plan })
      assert.equal(answer.etag, created.etag)
      const { anonymous, description } = assertStatus(
        await patient.call('POST', 'careplan', { name: 'x', notes: null }),
        201,
      )
      assert.deepEqual([anonymous, description], [false, null])
    })

    it('are the same below /med', async () => {
      const path = `/med/${patient.ehrId}/careplan`
      const { id } = assertStatus(await patient.call('POST', path, { name: 'x' }), 201)
      assert.deepEqual(
        assertStatus(await patient.call('GET', `${path}/${id}`)),
        assertStatus(await patient.call('GET', `careplan/${id}`)),
      )
    })

    it('report all violations at once', async () => {
      const wrong = { name: '', dueDate: '2026-02-30', status: 'ACTIVE', anonymous: 1, goals: [] }
      const answer = await patient.call('POST', 'careplan', wrong)
      assertProblem(answer, 400, 'invalid-input')
      assert.deepEqual(placesOfViolations(answer).sort(), [
        'body.anonymous',
        'body.dueDate',
        'body.goals',
        'body.name',
        'body.status',
      ])
      for (const dueDate of ['2025-02-29', '2026-13-01', '26-1-1', '2026-06-30T00:00:00Z', 5])
        assertProblem(await patient.call('POST', 'careplan', { name: 'x', dueDate }), 400, 'invalid-input')
    })

    it('have a name, and end after they begin', async () => {
      const refused = async (body: object) =>
        assertProblemPlaces(await patient.call('POST', 'careplan', body), 422, 'rule-violated')
      const turned = { proposedStartDate: '2026-05-01', dueDate: '2026-01-01' }
      assert.deepEqual(await refused({ name: ' ', ...turned }), ['body.name', 'body.dueDate'])
      const planId = await createPlan(patient, { actualStartDate: '2026-05-01' })
      const close = (achievementDate: string) =>
        patient.call('POST', `careplan/${planId}/close`, { achievementDate })
      const early = await close('2026-01-01')
      assert.deepEqual(assertProblemPlaces(early, 422, 'rule-violated'), ['body.achievementDate'])
      for (const path of ['goal', `goal/${await createGoal(patient, planId)}/task`]) {
        const blank = await patient.call('POST', `careplan/${planId}/${path}`, { name: ' ' })
        assert.deepEqual(assertProblemPlaces(blank, 422, 'rule-violated'), ['body.name'])
      }
      assertStatus(await close('2026-05-01'))
    })

    it('are created once for an Idempotency-Key', async () => {
      const key = { 'idempotency-key': crypto.randomUUID() }
      const [one, other] = await Promise.all(
        [1, 2].map(() => patient.call('POST', 'careplan', { name: 'once' }, key)),
      )
      const retried = assertStatus(await patient.call('POST', 'careplan', { name: 'once' }, key), 201)
      for (const { status, body } of [one!, other!])
        if (status === 201) assert.equal(body.id, retried.id)
        else assert.equal(status, 409)
      assert.equal(assertStatus(await patient.call('GET', 'careplan?name=once')).items.length, 1)
    })
  })

  describe('when listed', () => {
    let lister: Patient
    const names = async (query: string, who: Person = lister): Promise<string[]> =>
      assertStatus(await who.call('GET', `/med/${lister.ehrId}/careplan${query}`)).items.map(
        ({ name }: { name: string }) => name,
      )
    before(async () => {
      lister = await createPatient()
      for (const name of ['a', 'b', 'c']) await createPlan(lister, { name })
    })

    it('continue only from their own cursors', async () => {
      const { page } = assertStatus(await patient.call('GET', 'careplan?limit=1'))
      for (const other of ['/ehr', 'careplan/todo', '/ehr/careplan/template'])
        assertProblem(await patient.call('GET', `${other}?cursor=${page.next}`), 400, 'malformed-request')
    })

    it('come newest first, in pages', async () => {
      assert.deepEqual(await names(''), ['c', 'b', 'a'])
      const firstPage = await lister.call('GET', 'careplan?limit=2&count=true')
      assert.deepEqual(assertStatus(firstPage).page.total, 3)
      assert.match(firstPage.headers.get('link') ?? '', /rel="next"/)
      assert.deepEqual(await names(`?limit=2&cursor=${firstPage.body.page.next}`), ['a'])
      assert.ok(!('goals' in firstPage.body.items[0]))
    })

    it('are filtered by status, name and time', async () => {
      const id = await createPlan(lister, { name: 'closed' })
      assertStatus(await lister.call('POST', `careplan/${id}/close`, {}))
      assert.deepEqual(await names('?status=COMPLETED'), ['closed'])
      assert.deepEqual(await names('?status=ACTIVE&name=b'), ['b'])
      const today = new Date().toISOString().slice(0, 10)
      const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10)
      assert.equal((await names(`?from=${today}&to=${tomorrow}`)).length, 4)
      assert.deepEqual(await names(`?to=${today}`), [])
      assertProblem(await lister.call('GET', 'careplan?status=OPEN&from=2026-02-30'), 400, 'invalid-input')
      assertProblem(await lister.call('GET', 'careplan?cursor=x'), 400, 'malformed-request')
    })

    it('are those that the caller may see', async () => {
      const id = await createPlan(lister, { name: 'shared' })
      await addParticipant(id, nurse, 'read')
      assert.deepEqual(await names('', nurse), ['shared'])
      assertProblem(await stranger.call('GET', `/ehr/${lister.ehrId}/careplan`), 404, 'not-found')
      assertProblem(await lister.call('GET', '/ehr/doesNotExist/careplan'), 404, 'not-found')
    })
  })

  it("are the caller's own, and appear only below their own EHR", async () => {
    const id = await createPlan(patient)
    for (const path of [`/ehr/${patient.ehrId}/careplan/${id}`, `/ehr/${stranger.ehrId}/careplan/${id}`]) {
      assertProblem(await stranger.call('GET', path), 404, 'not-found')
      assertProblem(await stranger.call('PUT', path, { name: 'x' }), 404, 'not-found')
      assertProblem(await stranger.call('POST', `${path}/close`, {}), 404, 'not-found')
      assertProblem(await stranger.call('GET', `${path}/history`), 404, 'not-found')
    }
    assertProblem(await patient.call('GET', `/ehr/${stranger.ehrId}/careplan/${id}`), 404, 'not-found')
    assertProblem(
      await patient.call('POST', `/ehr/${stranger.ehrId}/careplan`, { name: 'x' }),
      404,
      'not-found',
    )
    assertProblem(await patient.call('POST', '/ehr/Nowhere123/careplan', { name: 'x' }), 404, 'not-found')
    const left = service.db.collection<{ _id: string }>('ehr.turns').find({ _id: 'Nowhere123' })
    assert.deepEqual(await left.toArray(), [], 'what is refused leaves nothing')
    await addParticipant(id, nurse, 'read')
    const path = `/ehr/${patient.ehrId}/careplan/${id}`
    assertStatus(await nurse.call('GET', path))
    assertStatus(await patient.call('PUT', path, { name: 'y' }))
    for (const [method, at, body] of [
      ['PUT', '', { name: 'x' }],
      ['POST', '/close', {}],
      ['POST', '/goal', { name: 'x' }],
      ['POST', '/restore', { version: 1 }],
    ] as const)
      assertProblem(await nurse.call(method, path + at, body), 403, 'forbidden')
    await addParticipant(id, nurse, 'write')
    assertStatus(await nurse.call('PUT', path, { name: 'x' }))
  })

  describe('when replaced', () => {
    it('lose omitted fields, and keep language, status and goals', async () => {
      const id = await createPlan(patient, full)
      await createGoal(patient, id)
      const put = await patient.call('PUT', `careplan/${id}`, { id, name: 'Other', outcome: 'x' })
      const { goals, ...plan } = assertStatus(put)
      assert.equal(goals.length, 1)
      assert.deepEqual([plan.name, plan.language, plan.status, plan.version], ['Other', 'en', 'ACTIVE', 2])
      assert.deepEqual(
        [plan.description, plan.dueDate, plan.anonymous, plan.outcome],
        [null, null, false, 'x'],
      )
      const answer = await patient.call('GET', `careplan/${id}`)
      assert.deepEqual([answer.body, answer.etag], [put.body, put.etag])
    })

    it('obey the rules of the class', async () => {
      const id = await createPlan(patient, full)
      const put = (body: object) => patient.call('PUT', `careplan/${id}`, body)
      assertProblem(await put({ name: 'x', id: 'other' }), 400, 'id-mismatch')
      const translated = await put({ name: 'x', language: 'nl' })
      assert.deepEqual(assertProblem(translated, 422, 'rule-violated'), ['fixed'])
      const fixed = { path: 'body.language', code: 'fixed', message: 'language cannot be changed.' }
      assert.deepEqual(translated.body.errors, [fixed])
      assert.equal(
        assertStatus(await put({ name: 'x', status: 'CANCELLED', outcome: 'Moved' })).status,
        'CANCELLED',
      )
      assert.ok(
        assertProblem(await put({ name: 'x', status: 'COMPLETED' }), 422, 'rule-violated').includes('closed'),
      )
      assert.ok(
        assertProblem(await put({ name: 'x', status: 'ACTIVE' }), 422, 'rule-violated').includes('closed'),
      )
      assert.equal(assertStatus(await put({ name: 'y', outcome: 'Moved away' })).status, 'CANCELLED')
    })

    it('require the version that the client knows', async () => {
      const id = await createPlan(patient)
      const etag = (await patient.call('GET', `careplan/${id}`)).etag
      const put = (match: string) =>
        patient.call('PUT', `careplan/${id}`, { name: match }, { 'if-match': match })
      const [one, other] = await Promise.all([put(etag), put(etag)])
      assert.deepEqual([one!.status, other!.status].sort(), [200, 412])
      const loser = one!.status === 412 ? one! : other!
      assert.equal(loser.etag, '"2"')
      assertStatus(await put('"2"'))
      assertProblem(await put('W/"3"'), 412, 'precondition-failed')
    })

    it('refuse a change that may only create', async () => {
      const id = await createPlan(patient)
      const put = (tags: string) =>
        patient.call('PUT', `careplan/${id}`, { name: 'x' }, { 'if-none-match': tags })
      assertProblem(await put('*'), 412, 'precondition-failed')
      const unknown = await patient.call('PUT', 'careplan/unknown', { name: 'x' }, { 'if-none-match': '*' })
      assertProblem(unknown, 404, 'not-found')
      assertProblem(await put('"2"'), 400, 'malformed-request')
      assert.equal(assertStatus(await patient.call('GET', `careplan/${id}`)).version, 1)
    })

    it('refuse to lose their language by null, as an event its plan', async () => {
      const id = await createPlan(patient, { language: 'nl' })
      const put = (body: object) => patient.call('PUT', `careplan/${id}`, body)
      assert.deepEqual(assertProblem(await put({ name: 'x', language: null }), 422, 'rule-violated'), [
        'fixed',
      ])
      assert.equal(assertStatus(await put({ name: 'x', dueDate: null })).language, 'nl')
      const event = { type: 'visit', title: 'Visit', start: '2026-03-29T01:30:00Z' }
      const path = `/med/${patient.ehrId}/event`
      const created = assertStatus(await patient.call('POST', path, { ...event, carePlanId: id }), 201)
      const move = { ...event, carePlanId: null }
      const answer = await patient.call('PUT', `${path}/${created.id}`, move)
      assert.deepEqual(assertProblem(answer, 422, 'rule-violated'), ['fixed'])
      for (const text of [' ', '\u200b'])
        for (const blank of [{ title: text }, { type: text }])
          assert.deepEqual(
            assertProblem(await patient.call('POST', path, { ...event, ...blank }), 422, 'rule-violated'),
            ['blank'],
          )
    })

    it('are found by texts in UTF-8 only', async () => {
      const find = (name: string) => patient.call('GET', `careplan?name=${name}`)
      for (const text of ['%FF', '%C3%28', '%ED%A0%80'])
        assertProblem(await find(text), 400, 'malformed-request')
      for (const text of ['100%', '%C3%AB', 'a+b']) assertStatus(await find(text))
    })

    it('have a new ETag if one of their goals or tasks changes', async () => {
      const id = await createPlan(patient)
      const etags = new Set<string>()
      const look = async () => {
        const etag = (await patient.call('GET', `careplan/${id}`)).etag
        assert.ok(!etags.has(etag))
        etags.add(etag)
        const unchanged = await patient.call('GET', `careplan/${id}`, undefined, { 'if-none-match': etag })
        assert.equal(unchanged.status, 304)
        return etag
      }
      await look()
      const goalId = await createGoal(patient, id)
      await look()
      const taskId = await createTask(patient, id, goalId)
      const etag = await look()
      assertStatus(await patient.call('PUT', `careplan/${id}/goal/${goalId}/task/${taskId}`, { name: 'x' }))
      await look()
      assertStatus(await patient.call('PUT', `careplan/${id}`, { name: 'x' }, { 'if-match': etag }))
    })
  })

  it('accept a hundred goals, also concurrently', async () => {
    const id = await createPlan(patient)
    const goalId = await createGoal(patient, id)
    const { _id, ...one } = (await service.db.collection('Goal').findOne({ _id: goalId as never }))!
    const copies = Array.from({ length: 97 }, (_, i) => ({ ...one, _id: `${id}${i}` }))
    await service.db.collection('Goal').insertMany(copies as never)
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => patient.call('POST', `careplan/${id}/goal`, { name: 'x' })),
    )
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 201, 422, 422, 422, 422])
    assert.equal(assertStatus(await patient.call('GET', `careplan/${id}`)).goals.length, 100)
  })

  it('accept the hundredth goal again in a retry after a crash', async () => {
    const id = await createPlan(patient)
    const goalId = await createGoal(patient, id)
    const { _id, ...one } = (await service.db.collection('Goal').findOne({ _id: goalId as never }))!
    const copies = Array.from({ length: 98 }, (_, i) => ({ ...one, _id: `${id}${i}` }))
    await service.db.collection('Goal').insertMany(copies as never)
    const key = { 'idempotency-key': `hundredth-${id}` }
    const add = () => patient.call('POST', `careplan/${id}/goal`, { name: 'x' }, key)
    const added = assertStatus(await add(), 201)
    const died = { $set: { leaseUntil: new Date(0) }, $unset: { answer: '' as const } }
    await service.db.collection('idempotency_keys').updateMany({}, died)
    assert.deepEqual(assertStatus(await add(), 201), added)
  })

  it('are returned whole if they are over the limit, and accept no more goals', async () => {
    const id = await createPlan(patient)
    const goalId = await createGoal(patient, id)
    const { _id, ...one } = (await service.db.collection('Goal').findOne({ _id: goalId as never }))!
    const moreThanAPage = Array.from({ length: 1_499 }, (_, i) => ({ ...one, _id: `${id}${i}` }))
    await service.db.collection('Goal').insertMany(moreThanAPage as never)
    assert.equal(assertStatus(await patient.call('GET', `careplan/${id}`)).goals.length, 1_500)
    assertProblem(await patient.call('POST', `careplan/${id}/goal`, { name: 'x' }), 422, 'rule-violated')
  })

  it('leave an audit entry for every access', async () => {
    const since = new Date()
    const id = await createPlan(patient)
    assertStatus(await patient.call('GET', `careplan/${id}`))
    assertProblem(await stranger.call('GET', `/ehr/${patient.ehrId}/careplan/${id}`), 404, 'not-found')
    assertProblem(
      await stranger.call('POST', `/ehr/${patient.ehrId}/careplan`, { name: 'x' }),
      404,
      'not-found',
    )
    assertProblem(
      await patient.call('POST', `careplan/${id}/close`, {}, { 'if-match': '"9"' }),
      412,
      'precondition-failed',
    )
    assert.deepEqual((await readAudit(patient.ehrId, since)).sort(), [
      'create CarePlan denied',
      'create CarePlan done',
      'query Goal done',
      'query Task done',
      'read CarePlan denied',
      'read CarePlan done',
      'update CarePlan refused',
    ])
  })
})
