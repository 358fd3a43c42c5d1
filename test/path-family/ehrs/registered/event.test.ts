import assert from 'node:assert/strict'
import { alertHandlingFields } from '../../../../schemas/events/alert-handling.ts'
import {
  addParticipant,
  createPatient,
  createPlan,
  type Patient,
  readAudit,
} from '../../../harness/care/patients.ts'
import { assertProblem, assertStatus } from '../../../harness/clients/path-client.ts'
import { createPerson, type Person } from '../../../harness/people/people.ts'
import { recordCommands } from '../../../harness/service/database-commands.ts'
import { service } from '../../../harness/service/service.ts'

const event = {
  type: 'appointment',
  title: 'Check-up',
  description: 'Bring the diary',
  start: '2026-03-01T08:30:00.000Z',
  end: '2026-03-01T09:00:00.000Z',
  allDay: false,
  location: 'Room 12',
  participants: [{ mvUid: 'bW81kPzQ7e', status: 'INVITED' }],
  severity: 'LOW',
  data: { systolic: 185, place: { room: [12] } },
}

/** The fields of the handling of an alert, which other events do not have. */
const noHandling = Object.fromEntries(Object.keys(alertHandlingFields).map((name) => [name, null]))

describe('events', () => {
  let patient: Patient
  let planId: string
  let otherPlan: string
  let path: string
  before(async () => {
    patient = await createPatient()
    ;[planId, otherPlan] = [await createPlan(patient), await createPlan(patient)]
    path = `/med/${patient.ehrId}/event`
  })
  const add = async (more: object = {}, person: Person = patient) =>
    assertStatus(await person.call('POST', path, { ...event, ...more }), 201)
  const titles = async (query: string, person: Person = patient): Promise<string[]> =>
    assertStatus(await person.call('GET', query)).items.map(({ title }: { title: string }) => title)

  it('have all sent fields, null for the others, and times in UTC', async () => {
    const created = await patient.call('POST', path, { ...event, carePlanId: planId })
    const { id, ...rest } = assertStatus(created, 201)
    assert.deepEqual(rest, {
      ...event,
      ...noHandling,
      carePlanId: planId,
      ehrId: patient.ehrId,
      version: 1,
    })
    assert.equal(created.headers.get('location'), `${path}/${id}`)
    const answer = await patient.call('GET', `${path}/${id}`)
    assert.deepEqual([assertStatus(answer), answer.etag], [created.body, '"1"'])
    const { type, title } = event
    const small = assertStatus(
      await patient.call('POST', path, { type, title, start: '2026-03-01T10:30:00+02:00' }),
      201,
    )
    const { id: _, ...none } = small
    assert.deepEqual(none, {
      ...Object.fromEntries(Object.keys(event).map((name) => [name, null])),
      ...noHandling,
      type,
      title,
      start: '2026-03-01T08:30:00.000Z',
      allDay: false,
      participants: [],
      carePlanId: null,
      ehrId: patient.ehrId,
      version: 1,
    })
    assertStatus(await patient.call('DELETE', `${path}/${small.id}`), 204)
  })

  it('are replaced and deleted at the version in If-Match', async () => {
    const { id, version: _, ehrId: __, ...fields } = await add({ carePlanId: planId })
    const one = `${path}/${id}`
    const change = { id, ...fields, title: 'Other', end: null, participants: [] }
    const changed = assertStatus(await patient.call('PUT', one, change, { 'if-match': '"1"' }))
    assert.deepEqual(changed, { ...change, ehrId: patient.ehrId, version: 2 })
    assertProblem(await patient.call('PUT', one, change, { 'if-match': '"1"' }), 412, 'precondition-failed')
    assertProblem(await patient.call('PUT', one, { ...change, id: 'other' }), 400, 'id-mismatch')
    const moved = await patient.call('PUT', one, { ...change, carePlanId: otherPlan })
    assert.deepEqual(assertProblem(moved, 422, 'rule-violated'), ['fixed'])
    assertProblem(
      await patient.call('DELETE', one, undefined, { 'if-match': '"1"' }),
      412,
      'precondition-failed',
    )
    assertStatus(await patient.call('DELETE', one), 204)
    assertProblem(await patient.call('GET', one), 404, 'not-found')
    const audit = await readAudit(patient.ehrId)
    for (const action of ['create', 'read', 'update', 'delete', 'query'].slice(0, 4))
      assert.ok(audit.includes(`${action} Event done`), action)
  })

  it('are listed by overlapping time, type, plan and participant', async () => {
    const person = await createPatient()
    const base = `/med/${person.ehrId}/event`
    const plan = await createPlan(person)
    const nurse = await createPerson()
    await addParticipant(plan, nurse, 'read')
    const put = async (title: string, start: string, more: object = {}) =>
      assertStatus(
        await person.call('POST', base, { type: 'visit', title, start: `2026-03-${start}:00Z`, ...more }),
        201,
      )
    const end = '2026-03-03T12:00:00Z'
    const participants = [{ mvUid: nurse.mvUid, status: 'ACCEPTED' }]
    await put('moment', '02T08:00')
    await put('day', '02T00:00', { allDay: true, type: 'holiday' })
    await put('long', '01T12:00', { end, carePlanId: plan, participants })
    await put('short', '03T12:00', { end: '2026-03-03T13:00:00Z', participants })
    const during = (from: string, to: string, more = '') =>
      titles(`${base}?from=2026-03-${from}:00Z&to=2026-03-${to}:00Z${more}`, person)
    assert.deepEqual(await titles(base, person), ['long', 'day', 'moment', 'short'])
    assert.deepEqual(await during('02T08:00', '02T09:00'), ['long', 'day', 'moment'])
    assert.deepEqual(await during('02T08:01', '03T00:00'), ['long', 'day'])
    assert.deepEqual(await during('03T00:00', '03T12:00'), ['long'])
    assert.deepEqual(await during('03T12:00', '04T00:00'), ['short'])
    assert.deepEqual(await during('03T13:00', '04T00:00'), [])
    assert.deepEqual(await during('01T00:00', '04T00:00', '&type=holiday'), ['day'])
    assert.deepEqual(await titles(`${base}?type=visit`, person), ['long', 'moment', 'short'])
    assert.deepEqual(await titles(`${base}?carePlanId=${plan}`, person), ['long'])
    assert.deepEqual(await titles(`${base}/careplan/${plan}?type=visit`, person), ['long'])
    const participationPath = `/med/${person.ehrId}/event-participation`
    assert.deepEqual(await titles(participationPath, person), [])
    assert.deepEqual(await titles(`${participationPath}?participant=${nurse.mvUid}`, person), [
      'long',
      'short',
    ])
    assert.deepEqual(await titles(`${participationPath}?to=2026-03-03T00:00:00Z`, nurse), ['long'])
    const firstPage = assertStatus(await person.call('GET', `${base}?limit=3&count=true`))
    assert.equal(firstPage.page.total, 4)
    assert.deepEqual(await titles(`${base}?limit=3&cursor=${firstPage.page.next}`, person), ['short'])
    assertProblem(await person.call('GET', `${base}?from=2026-03-01T23:59:60Z`), 400, 'invalid-input')
    assertProblem(await person.call('GET', `${base}?from=2026-02-30`), 400, 'invalid-input')
  })

  it('are listed page by page, whatever their duration, without reading past ones', async () => {
    const person = await createPatient()
    const base = `/med/${person.ehrId}/event`
    const timeOf = (day: number, ms = 0) => new Date(Date.UTC(2026, 0, 1 + day) + ms).toISOString()
    const events: { title: string; start: string; end: string }[] = []
    for (const [i, day] of [0, 10, 10, 45, 60, 90, 100].entries())
      for (const [j, length] of [0, 1, 31, 32, 200].entries())
        events.push({ title: `${i}${j}`, start: timeOf(day, j), end: timeOf(day + length, j + 1) })
    for (const event of events)
      assertStatus(await person.call('POST', base, { type: 'visit', ...event }), 201)
    const paged = async (query: string): Promise<string[]> => {
      const lines: string[] = []
      let cursor = ''
      do {
        const { items, page } = assertStatus(
          await person.call('GET', `${base}?limit=4&count=true${query}${cursor}`),
        )
        lines.push(...items.map(({ title, start }: { title: string; start: string }) => `${start} ${title}`))
        cursor = page.next === null ? '' : `&cursor=${page.next}`
        if (!cursor) assert.equal(page.total, lines.length)
      } while (cursor)
      return lines
    }
    for (const [from, to] of [
      [-9, 400],
      [41, 42],
      [42, 61],
      [76, 90],
      [300, 301],
    ] as const) {
      const within = events.filter((one) => one.start < timeOf(to) && one.end > timeOf(from))
      const overlapping = await paged(`&from=${timeOf(from)}&to=${timeOf(to)}`)
      assert.deepEqual(
        overlapping.map((one) => one.slice(0, 24)),
        within.map(({ start }) => start).sort(),
      )
      assert.deepEqual(
        overlapping.map((one) => one.slice(25)).sort(),
        within.map(({ title }) => title).sort(),
      )
    }
    assert.equal((await paged('')).length, events.length)

    const commands = await recordCommands(() => paged(`&from=${timeOf(100)}&to=${timeOf(101)}`))
    const finds = commands.filter(({ commandName, find }) => commandName === 'find' && find === 'Event')
    assert.ok(finds.length > 2)
    for (const { filter } of finds) if (!filter.long.$eq) assert.ok(filter.start.$gte >= new Date(timeOf(69)))
  })

  it('are visible to those who see their plan, without a plan to those who see the EHR', async () => {
    const [reader, writer, stranger] = await Promise.all([createPerson(), createPerson(), createPatient()])
    await addParticipant(planId, reader, 'read')
    await addParticipant(planId, writer, 'write')
    const ofPlan = await add({ carePlanId: planId })
    const ofOther = await add({ carePlanId: otherPlan })
    const ofEhr = await add()
    for (const { id } of [ofPlan, ofEhr]) assertStatus(await reader.call('GET', `${path}/${id}`))
    assertProblem(await writer.call('GET', `${path}/${ofOther.id}`), 404, 'not-found')
    assertProblem(await writer.call('GET', `${path}/careplan/${otherPlan}`), 404, 'not-found')
    const change = { type: 'x', title: 'x', start: event.start }
    assertProblem(await reader.call('PUT', `${path}/${ofPlan.id}`, change), 403, 'forbidden')
    assertProblem(await reader.call('POST', path, { ...event, carePlanId: planId }), 403, 'forbidden')
    assertStatus(await writer.call('PUT', `${path}/${ofPlan.id}`, change))
    await add({ carePlanId: planId }, writer)
    assertProblem(await writer.call('POST', path, event), 403, 'forbidden')
    assertProblem(await writer.call('POST', path, { ...event, carePlanId: otherPlan }), 404, 'not-found')
    assertProblem(await writer.call('PUT', `${path}/${ofEhr.id}`, change), 403, 'forbidden')
    assertProblem(await writer.call('DELETE', `${path}/${ofEhr.id}`), 403, 'forbidden')
    assertStatus(await writer.call('DELETE', `${path}/${ofPlan.id}`), 204)
    for (const lists of [path, `${path}/careplan/${planId}`, `/med/${patient.ehrId}/event-participation`])
      assertProblem(await stranger.call('GET', lists), 404, 'not-found')
    assertProblem(await stranger.call('POST', path, event), 404, 'not-found')
    assertProblem(await stranger.call('DELETE', `${path}/${ofEhr.id}`), 404, 'not-found')
    const elsewhere = `/med/${stranger.ehrId}/event`
    assertProblem(await stranger.call('GET', `${elsewhere}/${ofEhr.id}`), 404, 'not-found')
    assertProblem(await patient.call('GET', `${elsewhere}/${ofEhr.id}`), 404, 'not-found')
    assertProblem(await stranger.call('POST', elsewhere, { ...event, carePlanId: planId }), 404, 'not-found')
  })

  it('obey all rules of the class family', async () => {
    const codes = async (more: object) =>
      assertProblem(await patient.call('POST', path, { ...event, ...more }), 422, 'rule-violated')
    assert.deepEqual(await codes({ end: '2026-03-01T08:00:00Z' }), ['order'])
    assert.deepEqual(await codes({ participants: [...event.participants, ...event.participants] }), ['twice'])
    assert.deepEqual(await codes({ data: { 'a.b': 1, $where: 1 } }), ['key', 'key'])
    for (const wrong of [
      { start: null },
      { start: '2026-02-30T00:00:00Z' },
      { start: '2026-12-31T23:59:60Z', end: null },
      { last: event.end },
      { title: '' },
    ])
      assertProblem(await patient.call('POST', path, { ...event, ...wrong }), 400, 'invalid-input')
    const closed = await createPlan(patient)
    assertStatus(await patient.call('POST', `/ehr/${patient.ehrId}/careplan/${closed}/close`, {}))
    assert.deepEqual(await codes({ carePlanId: closed }), ['closed'])
  })

  it('lie in the years 1 to 9999 in any time zone, and appear in every list', async () => {
    const person = await createPatient()
    const base = `/med/${person.ehrId}/event`
    const add = (more: object) => person.call('POST', base, { type: 'visit', title: 'x', ...more })
    for (const start of ['9999-12-31T23:59:59-01:00', '0001-01-01T00:00:00+01:00', '0000-06-01T00:00:00Z'])
      assertProblem(await add({ start }), 400, 'invalid-input')
    const last = assertStatus(await add({ start: '9999-12-31T23:00:00Z', allDay: true }), 201)
    assertStatus(await add({ start: '0001-01-01T00:00:00Z' }), 201)
    assert.equal(assertStatus(await person.call('GET', base)).items.length, 2)
    const lastPage = assertStatus(await person.call('GET', `${base}?from=9999-12-31T23:30:00Z`))
    assert.deepEqual(lastPage.items, [last])
    const stored = await service.db.collection<{ _id: string; last: Date }>('Event').findOne({ _id: last.id })
    assert.equal(stored?.last.toISOString(), '9999-12-31T23:59:59.999Z')
  })

  it('are added once for an Idempotency-Key', async () => {
    const key = { 'idempotency-key': crypto.randomUUID() }
    const firstAnswer = await patient.call('POST', path, event, key)
    assert.deepEqual((await patient.call('POST', path, event, key)).body, assertStatus(firstAnswer, 201))
  })
})
