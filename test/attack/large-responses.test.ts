import assert from 'node:assert/strict'
import type { Document } from 'mongodb'
import { copyDocument } from '../harness/care/copied-documents.ts'
import { createPatient, createPlan, type Patient } from '../harness/care/patients.ts'
import { createClassClient } from '../harness/clients/class-client.ts'
import { assertStatus } from '../harness/clients/path-client.ts'
import { withAnsweredCommands } from '../harness/service/database-commands.ts'

const MEGABYTE = 1024 * 1024
const MAX_RESPONSE_BYTES = 16 * MEGABYTE
/** Each has nearly a megabyte, as much as a request may store. */
const LARGE_OBJECTS = 40
const SMALL_OBJECTS = 1_000
const PARTS = 50

/** Requests whose responses would be too large, or that would go on for long after their timeout. */
describe('attack: large responses', function suite() {
  this.timeout(60_000)
  let patient: Patient
  let carePlanId: string

  const custom = (modelClassName: string) => ({
    ehrId: patient.ehrId,
    carePlanId,
    modelClassName,
    payload: {},
  })

  before(async () => {
    patient = await createPatient()
    carePlanId = await createPlan(patient)
    const { post } = createClassClient(patient)
    const [small, large] = await Promise.all(
      ['Small', 'Large'].map((name) => post('Custom', custom(name)).expect(201)),
    )
    await copyDocument('Custom', small?.body.objectId, SMALL_OBJECTS - 1, (i) => ({ payload: { i } }))
    const text = 'x'.repeat(0.9 * MEGABYTE)
    await copyDocument('Custom', large?.body.objectId, LARGE_OBJECTS, () => ({ payload: { text } }))
  })

  const list = (modelClassName: string, more: object = {}) => ({
    method: 'GET',
    path: '/1/classes/Custom',
    body: { where: { carePlanId, modelClassName }, limit: 1000, ...more },
  })

  it('have at most 16 MB in the class family', async () => {
    const { list: find, batch } = createClassClient(patient)
    const refusal = await find('Custom', { modelClassName: 'Large' }, { limit: 1000 })
    assert.deepEqual([refusal.status, refusal.body.code], [400, 102])
    assert.match(refusal.body.error, /at most 5000 objects and 16 MB. Lower limit, or select keys/)
    const page = await find('Custom', { modelClassName: 'Large' }, { limit: 10 }).expect(200)
    assert.equal(page.body.results.length, 10)
    const options = { limit: 1000, keys: 'modelClassName' }
    const keys = await find('Custom', { modelClassName: 'Large' }, options).expect(200)
    assert.equal(keys.body.results.length, LARGE_OBJECTS + 1)
    const ten = list('Large', { limit: 10 })
    const one = await batch([ten]).expect(200)
    assert.equal(one.body[0].success.results.length, 10)
    // Two lists are read at a time, so either of them may use up the budget.
    const parts = await batch([ten, ten, ten, list('Large')]).expect(200)
    const results = parts.body.flatMap(({ success }: Document) => success?.results.length ?? [])
    assert.ok(results.length <= 1, `${results}`)
    const codes = parts.body.flatMap(({ error }: Document) => error?.code ?? [])
    assert.deepEqual(codes, Array(4 - results.length).fill(102))
  })

  it('have at most 5,000 objects in a batch', async () => {
    const { body } = await createClassClient(patient)
      .batch(Array.from({ length: 7 }, () => list('Small', { keys: 'modelClassName' })))
      .expect(200)
    const results = body.flatMap(({ success }: Document) => success?.results.length ?? [])
    // Two lists are read at a time, and the last two may use up the budget together.
    assert.ok([4, 5].includes(results.length), `${results}`)
    assert.deepEqual(new Set(results), new Set([SMALL_OBJECTS]))
    const refusals = body.filter(({ error }: Document) => error)
    assert.deepEqual(new Set(refusals.map(({ error }: Document) => error.code)), new Set([102]))
    const usual = await createClassClient(patient)
      .batch(Array.from({ length: PARTS }, () => list('Small', { limit: undefined })))
      .expect(200)
    assert.ok(usual.body.every(({ success }: Document) => success.results.length === 100))
  })

  it('are not read for a batch after its timeout', async () => {
    let answer = () => {}
    const answerPromise = new Promise<void>((resolve) => {
      answer = resolve
    })
    let listCount = 0
    const isList = (command: Document) => command.find === 'Custom' && command.limit === 1000
    await withAnsweredCommands(
      (command, pass) => {
        if (!isList(command)) return undefined
        listCount += 1
        return answerPromise.then(pass)
      },
      async () => {
        const laterBatch = await createClassClient(patient).batch(
          Array.from({ length: PARTS }, () => list('Small')),
        )
        assert.deepEqual([laterBatch.status, laterBatch.body.code], [408, 124])
        answer()
        await createClassClient(patient).list('Custom', {}, { limit: 1 }).expect(200)
      },
    )
    assert.equal(listCount, 2)
  })

  it('are shorter pages in the path family, on which clients get everything', async () => {
    const fall = { carePlanId, timestamp: '2026-03-01T08:30:00Z', data: { injured: false } }
    const eventPath = `/data/${patient.mvUid}/event/fall`
    const { id } = assertStatus(await patient.call('POST', eventPath, fall), 201)
    const note = 'x'.repeat(0.9 * MEGABYTE)
    await copyDocument('Occurrence', id, LARGE_OBJECTS, () => ({ data: { injured: false, note } }))
    for (const path of [eventPath, 'summary/timeline']) {
      const ids = new Set<string>()
      let [cursor, pages]: [string | null, number] = ['', 0]
      while (cursor !== null) {
        const page: Document = assertStatus(
          await patient.call('GET', `${path}?limit=1000${cursor && `&cursor=${cursor}`}`),
        )
        const items: { id: string }[] = page.items ?? page.events
        for (const { id } of items) ids.add(id)
        assert.ok(JSON.stringify(page).length < MAX_RESPONSE_BYTES + 2 * MEGABYTE, path)
        cursor = page.page.next
        pages += 1
      }
      assert.ok(ids.size > LARGE_OBJECTS, `${path}: ${ids.size}`)
      assert.ok(pages > 2, `${path}: ${pages}`)
    }
  })
})
