import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CarePlanTemplates } from '../../../records/care-plans/templates/care-plan-templates.ts'
import { encodeCursor } from '../../../records/store/reading/cursor.ts'
import { readJsonFiles } from '../../../server/records/json-files.ts'
import { addParticipant, createPatient, type Patient } from '../../harness/care/patients.ts'
import { assertProblem, assertStatus } from '../../harness/clients/path-client.ts'
import { placesOfViolations } from '../../harness/clients/violation-places.ts'
import { createPerson } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'

const templateIds = ['hypertension', 'asthma', 'type-2-diabetes', 'healthy-weight']

interface Part {
  name: string
  dueDate: string | null
  dueDay?: number
}
interface WithTasks extends Part {
  tasks: Part[]
}

describe('care-plan templates', () => {
  let patient: Patient
  let stranger: Patient
  before(async () => {
    ;[patient, stranger] = await Promise.all([createPatient(), createPatient()])
  })

  it('are listed, in English and in Dutch', async () => {
    const { items } = assertStatus(await patient.call('GET', '/ehr/careplan/template?count=true'))
    assert.deepEqual(
      items.map(({ id }: { id: string }) => id),
      templateIds,
    )
    for (const { languages, language } of items) assert.deepEqual([languages, language], [['en', 'nl'], 'en'])
    const dutch = assertStatus(await patient.call('GET', '/ehr/careplan/template?language=nl&limit=1'))
    assert.equal(dutch.items[0].name, 'Leven met hoge bloeddruk')
    const rest = assertStatus(await patient.call('GET', `/ehr/careplan/template?cursor=${dutch.page.next}`))
    assert.deepEqual([rest.items.length, rest.page.next], [3, null])
    const gone = encodeCursor('templates', { value: null, id: 'withdrawn' })
    assertProblem(
      await patient.call('GET', `/ehr/careplan/template?cursor=${gone}`),
      400,
      'malformed-request',
    )
  })

  for (const id of templateIds)
    it(`create plans with goals and tasks, dated from the start: ${id}`, async () => {
      const { items } = assertStatus(await patient.call('GET', '/ehr/careplan/template?language=nl'))
      const template = items.find((one: { id: string }) => one.id === id)
      const created = await patient.call('POST', `careplan/template/${id}`, {
        language: 'nl',
        startDate: '2026-03-01',
      })
      const plan = assertStatus(created, 201)
      const days = (date: string) => (Date.parse(date) - Date.parse('2026-03-01')) / 86_400_000
      assert.deepEqual([plan.name, plan.language, plan.status], [template.name, 'nl', 'ACTIVE'])
      assert.equal(days(plan.dueDate), template.durationDays)
      const outline = (goals: WithTasks[], dayOf: (part: Part) => number | undefined) =>
        goals.map((goal) => [goal, ...goal.tasks].map((part) => [part.name, dayOf(part)]))
      assert.deepEqual(
        outline(plan.goals, ({ dueDate }) => (dueDate === null ? undefined : days(dueDate))),
        outline(template.goals, ({ dueDay }) => dueDay),
      )
      for (const goal of template.goals)
        for (const { dueDay } of goal.tasks)
          assert.ok(dueDay <= goal.dueDay && goal.dueDay <= template.durationDays)
      const answer = await patient.call('GET', `careplan/${plan.id}`)
      assert.deepEqual([assertStatus(answer), answer.etag], [plan, created.etag])
    })

  it('start today by default, or on a given later day', async () => {
    const today = new Date().toISOString().slice(0, 10)
    const path = `/med/${patient.ehrId}/careplan/template/asthma`
    const now = assertStatus(await patient.call('POST', path, { name: 'Mine' }), 201)
    assert.deepEqual([now.name, now.actualStartDate, now.proposedStartDate], ['Mine', today, null])
    const later = assertStatus(await patient.call('POST', path, { startDate: '2999-01-01' }), 201)
    assert.deepEqual([later.actualStartDate, later.proposedStartDate], [null, '2999-01-01'])
  })

  it('end by the year 9999', async () => {
    const answer = await patient.call('POST', 'careplan/template/asthma', { startDate: '9999-12-31' })
    assertProblem(answer, 422, 'rule-violated')
    assert.deepEqual(placesOfViolations(answer), ['body.startDate'])
  })

  it('add participants together with the plan, or create neither', async () => {
    const nurse = await createPerson()
    const participants = [{ mvUid: nurse.mvUid, role: 'Nurse', access: 'WRITE' }]
    const plan = assertStatus(
      await patient.call('POST', 'careplan/template/asthma', { name: 'With a nurse', participants }),
      201,
    )
    assert.equal(
      assertStatus(await nurse.call('GET', `/ehr/${patient.ehrId}/careplan/${plan.id}`)).name,
      'With a nurse',
    )
    assert.equal(assertStatus(await nurse.call('GET', `/ehr/${patient.ehrId}/careplan`)).items.length, 1)
    const wrong = {
      name: 'Nobody',
      participants: [...participants, { mvUid: patient.mvUid, access: 'READ' }],
    }
    wrong.participants.push({ mvUid: 'nobody1234', access: 'READ' })
    const answer = await patient.call('POST', 'careplan/template/asthma', wrong)
    assert.deepEqual(assertProblem(answer, 422, 'rule-violated'), ['subject', 'user'])
    assert.deepEqual(placesOfViolations(answer), ['body.participants.1.mvUid', 'body.participants.2.mvUid'])
    assert.deepEqual(assertStatus(await patient.call('GET', 'careplan?name=Nobody')).items, [])
    assert.equal(assertStatus(await nurse.call('GET', `/ehr/${patient.ehrId}/careplan`)).items.length, 1)
  })

  it('leave nothing behind if they cannot be used', async () => {
    const count = () => service.db.collection('Goal').countDocuments({ ehrId: patient.ehrId })
    const before = await count()
    const path = `/ehr/${patient.ehrId}/careplan/template`
    assertProblem(await patient.call('POST', `${path}/unknown`, {}), 404, 'not-found')
    assertProblem(await stranger.call('POST', `${path}/asthma`, {}), 404, 'not-found')
    assertProblem(
      await patient.call('POST', `${path}/asthma`, { startDate: '2026-02-30' }),
      400,
      'invalid-input',
    )
    assertProblem(
      await patient.call('POST', `${path}/asthma`, { startDate: '9999-12-01' }),
      422,
      'rule-violated',
    )
    assert.equal(await count(), before)
  })

  it('create one plan for an Idempotency-Key', async () => {
    const key = { 'idempotency-key': crypto.randomUUID() }
    const use = () => patient.call('POST', 'careplan/template/healthy-weight', {}, key)
    assert.deepEqual(assertStatus(await use(), 201), assertStatus(await use(), 201))
  })

  describe('in a plan that exists', () => {
    let planId: string
    beforeEach(async () => {
      planId = assertStatus(await patient.call('POST', 'careplan', { name: 'Mine' }), 201).id
    })
    const add = (who: Pick<Patient, 'call'>, body: object = {}, headers = {}) =>
      who.call('POST', `/ehr/${patient.ehrId}/careplan/${planId}/template/asthma`, body, headers)
    const readPlan = async () => assertStatus(await patient.call('GET', `careplan/${planId}`))

    it('add goals and tasks, dated from the start, for those who may write there', async () => {
      const [nurse, reader] = await Promise.all([createPerson(), createPerson()])
      await addParticipant(planId, nurse, 'write')
      await addParticipant(planId, reader, 'read')
      assertProblem(await add(stranger), 404, 'not-found')
      assertProblem(await add(reader), 403, 'forbidden')
      assert.deepEqual((await readPlan()).goals, [])
      const { items } = assertStatus(await patient.call('GET', '/ehr/careplan/template?language=nl'))
      const template = items.find(({ id }: { id: string }) => id === 'asthma')
      const plan = assertStatus(await add(nurse, { startDate: '2026-03-01', language: 'nl' }))
      const names = (goals: WithTasks[]) =>
        goals.map(({ name, tasks }) => [name, tasks.map((task) => task.name)])
      assert.deepEqual([plan.name, names(plan.goals)], ['Mine', names(template.goals)])
      const [goal] = template.goals
      const dueDate = new Date(Date.UTC(2026, 2, 1 + goal.dueDay)).toISOString().slice(0, 10)
      assert.equal(plan.goals[0].dueDate, dueDate)
      assert.deepEqual(await readPlan(), plan)
    })

    it('are added once for an Idempotency-Key', async () => {
      const key = { 'idempotency-key': crypto.randomUUID() }
      const firstAnswer = assertStatus(await add(patient, {}, key))
      assert.deepEqual(assertStatus(await add(patient, {}, key)), firstAnswer)
      assert.deepEqual(await readPlan(), firstAnswer)
    })

    it('are refused whole by a plan that is closed or full, and if there is no such template', async () => {
      const path = `careplan/${planId}/template/unknown`
      assertProblem(await patient.call('POST', path, {}), 404, 'not-found')
      const goals = Array.from({ length: 99 }, (_, i) => ({ name: `Goal ${i}` }))
      for (const goal of goals) assertStatus(await patient.call('POST', `careplan/${planId}/goal`, goal), 201)
      assert.deepEqual(assertProblem(await add(patient), 422, 'rule-violated'), ['full'])
      assert.equal((await readPlan()).goals.length, 99)
      assertStatus(await patient.call('POST', `careplan/${planId}/close`, {}))
      assertProblem(await add(patient), 422, 'rule-violated')
      assert.equal((await readPlan()).goals.length, 99)
    })
  })

  describe('of an operator', () => {
    let folder: string
    const templatesIn = (path: string) => new CarePlanTemplates(readJsonFiles(path, 'CARE_PLAN_TEMPLATES'))
    const write = (name: string, content: unknown) =>
      writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content))
    const ownTemplate = {
      id: 'own',
      name: { fr: 'Plan' },
      description: { fr: 'Court' },
      durationDays: 7,
      goals: [],
    }
    beforeEach(() => {
      folder = mkdtempSync(join(tmpdir(), 'templates-'))
    })
    afterEach(() => rmSync(folder, { recursive: true }))

    it('obey rules that the built-in ones meet', () => {
      assert.equal(templatesIn('records/care-plans/templates').list('en', { limit: 10 }).items.length, 4)
    })

    it('extend the built-in ones, or replace one', () => {
      write('own.json', ownTemplate)
      write('asthma.json', { ...ownTemplate, id: 'asthma' })
      write('readme.txt', 'no template')
      const templates = templatesIn(folder)
      assert.equal(templates.list('en', { limit: 10 }).items.length, 5)
      assert.equal(templates.get('asthma', 'en')?.language, 'fr')
    })

    it('prevent the start if invalid, with all faults named', () => {
      write('a.json', { ...ownTemplate, goals: [{ name: { en: 'x' }, tasks: [] }] })
      write('b.json', { ...ownTemplate, durationDays: 0, surprise: 1 })
      write('c.json', '{')
      write('d.json', ownTemplate)
      mkdirSync(join(folder, 'e.json'))
      write('f.json', { ...ownTemplate, id: 'f', goals: [{ name: { fr: ' \u200b' }, tasks: [] }] })
      assert.throws(
        () => templatesIn(folder),
        (error: Error) => {
          assert.match(error.message, /a\.json: .*translated into every language of the name: fr/)
          assert.equal(error.message.split('must be translated').length, 2, 'once')
          assert.match(error.message, /f\.json: .*must not be blank/)
          assert.match(error.message, /b\.json: .*surprise.*durationDays|b\.json: .*durationDays.*surprise/)
          assert.match(error.message, /c\.json: is not valid JSON/)
          assert.match(
            error.message,
            /CARE_PLAN_TEMPLATES\/d\.json: id is the same as in CARE_PLAN_TEMPLATES\/a\.json/,
          )
          assert.match(error.message, /e\.json: cannot be read/)
          return true
        },
      )
      assert.throws(() => templatesIn(join(folder, 'none')), /CARE_PLAN_TEMPLATES: cannot be read/)
    })
  })
})
