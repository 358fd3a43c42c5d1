import assert from 'node:assert/strict'
import type { Document } from 'mongodb'
import { purgeDeletedEhrs } from '../../../records/ehrs/deletion/deleted-ehrs.ts'
import { containedCollections } from '../../../records/kinds.ts'
import { removeEntriesBefore } from '../../../records/store/audit/checkpoints.ts'
import { DAY_MS } from '../../../schemas/time/durations.ts'
import {
  createEhrAbout,
  createGoal,
  createPatient,
  createPlan,
  createTask,
  createWeight,
  type Patient,
} from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { createAdmin, createPerson } from '../../harness/people/people.ts'
import { assertNoScan, recordAllCommands, recordCommands } from '../../harness/service/database-commands.ts'
import { config, service } from '../../harness/service/service.ts'
import { waitUntil } from '../../harness/wait.ts'

const describeCommands = (commands: readonly Document[]) =>
  commands.map((command) => `${command.commandName} ${command[command.commandName]}`).sort()

const soon = () => new Date(Date.now() + 4000).toISOString()

describe('database work for care plans', () => {
  let patient: Patient
  let planId: string
  before(async () => {
    patient = await createPatient()
    planId = await createPlan(patient)
  })

  it('reads the data and writes the audit entry, without further queries', async () => {
    const { ehrId } = patient
    const goalId = await createGoal(patient, planId)
    await createTask(patient, planId, goalId, { dueDate: '2026-01-01' })
    const plan = `/med/${ehrId}/careplan/${planId}`
    const events = `/med/${ehrId}/event`
    const event = { carePlanId: planId, type: 'visit', title: 'x', start: '2026-03-01T08:30:00Z' }
    const eventId = assertStatus(await patient.call('POST', events, event), 201).id
    assertStatus(await patient.call('POST', `${plan}/settings`, { a: 1 }))
    const body = { mvUid: (await createPerson()).mvUid, access: 'READ' }
    const { participationId } = assertStatus(await patient.call('POST', `${plan}/participant`, body), 201)
    // The plan tells who may learn the names of its participants. These come as those of the accesses below.
    const participants = ['CarePlan', '_User', 'plan.participants', 'profile.persons']
    const expected = {
      [plan]: ['CarePlan', 'Goal', 'Task'],
      careplan: ['CarePlan'],
      'careplan/todo': ['Task', 'Task'],
      [`${plan}/goal/${goalId}`]: ['Goal', 'Task'],
      [`${plan}/participant`]: participants,
      [`${plan}/participant/${participationId}`]: participants,
      [`${plan}/settings`]: ['plan.settings'],
      // Short events and long events are separate queries.
      [events]: ['Event', 'Event'],
      [`${events}/${eventId}`]: ['Event'],
      [`${events}/careplan/${planId}`]: ['Event', 'Event'],
      // Entries about the EHR, and about every EHR since its creation. No set of EHRs contains this one.
      // The names of those who looked come with one query, and with a second one for users without a profile.
      [`/ehr/${ehrId}/audit`]: [
        'Ehr',
        '_User',
        ...Array(2).fill('audit.entries'),
        'audit.scopes',
        'profile.persons',
      ],
      '/ehr': ['Ehr', 'Ehr', '_User'],
    }
    for (const [path, expectedWork] of Object.entries(expected)) {
      // The session is kept for seconds, so that the next request need not read it.
      assertStatus(await patient.call('GET', '/ehr'))
      const commands = await recordCommands(async () => assertStatus(await patient.call('GET', path)), /./)
      const ownCommands = describeCommands(commands)
      const reads = ownCommands.filter((name) => name !== 'insert audit.entries')
      assert.deepEqual(
        reads,
        expectedWork.map((name) => `find ${name}`),
        path,
      )
      assert.ok(ownCommands.length > reads.length, `${path} leaves no entry`)
    }
  })

  it('looks for a hidden record only when it restores none', async () => {
    const weight = `procedure/bodyweight/${await createWeight(patient, planId)}`
    const stored = assertStatus(await patient.call('GET', weight))
    assertStatus(await patient.call('PUT', weight, { ...stored, weight: 71 }))
    const restore = () => patient.call('POST', `${weight}/restore`, { version: 1 })
    const isSearchForHidden = ({ find, filter }: Document) => find === 'BodyWeight' && filter._rperm?.$regex
    const commands = await recordCommands(async () => assertStatus(await restore()))
    assert.ok(commands.length > 0)
    assert.deepEqual(commands.filter(isSearchForHidden), [])
  })

  it('never scans a whole collection', async () => {
    const admin = await createAdmin()
    const commands = await recordCommands(async () => {
      const id = await createPlan(patient)
      const goalId = await createGoal(patient, id)
      const taskId = await createTask(patient, id, goalId, { dueDate: '2026-01-01' })
      const task = `careplan/${id}/goal/${goalId}/task/${taskId}`
      assertStatus(await patient.call('PUT', task, { name: 'x' }))
      assertStatus(await patient.call('GET', `${task}/history`))
      assertStatus(await patient.call('POST', `${task}/restore`, { version: 1 }))
      assertStatus(await patient.call('GET', `/med/${patient.ehrId}/careplan/${id}/goal/${goalId}`))
      for (const query of ['', '?status=ACTIVE&name=x', '?from=2026-01-01&to=2027-01-01&count=true&limit=1'])
        assertStatus(await patient.call('GET', `careplan${query}`))
      for (const query of [
        '',
        '?assignee=x',
        '?dueBefore=2027-01-01&count=true',
        `?carePlanId=${id}&limit=1`,
      ])
        assertStatus(await patient.call('GET', `careplan/todo${query}`))
      const events = `/med/${patient.ehrId}/event`
      const event = { carePlanId: id, type: 'visit', title: 'x', start: '2026-03-01T08:30:00Z' }
      const eventId = assertStatus(await patient.call('POST', events, event), 201).id
      for (const query of [
        '',
        '?type=visit&count=true',
        `?carePlanId=${id}`,
        `/careplan/${id}`,
        '-participation',
      ])
        assertStatus(await patient.call('GET', `${events}${query}`))
      assertStatus(
        await patient.call('GET', `${events}?from=2026-01-01T00:00:00Z&to=2027-01-01T00:00:00Z&limit=1`),
      )
      assertStatus(await patient.call('PUT', `${events}/${eventId}`, event))
      assertStatus(await patient.call('DELETE', `${events}/${eventId}`), 204)
      const rate = { carePlanId: id, timestamp: '2026-03-01T08:30:00Z', heartRate: 72, heartRateUnit: '/min' }
      const items = [
        { ...rate, kind: 'heartrate' },
        { ...rate, kind: 'heartrate', deviceId: 'watch' },
      ]
      for (const stored of [2, 0])
        assert.equal(assertStatus(await patient.call('POST', 'procedure/batch', { items })).stored, stored)
      for (const query of [
        '?count=true',
        '?order=asc&limit=1',
        `?carePlanId=${id}&from=2026-01-01T00:00:00Z`,
      ]) {
        const { page } = assertStatus(await patient.call('GET', `procedure/heartrate${query}`))
        if (page.next)
          assertStatus(await patient.call('GET', `procedure/heartrate${query}&cursor=${page.next}`))
        assertStatus(await patient.call('GET', `procedure/heartrate/omh${query.replace('count=true', '')}`))
      }
      assertStatus(await patient.call('POST', `careplan/${id}/close`, { closeOpen: true }))
      assertStatus(await patient.call('POST', 'careplan/template/asthma', {}), 201)
      for (const query of ['', '?status=ACTIVE&count=true'])
        assertStatus(await patient.call('GET', `careplan/${id}/participant${query}`))
      const guest = await createPerson()
      const body = { mvUid: guest.mvUid, access: 'READ' }
      const { participationId } = assertStatus(
        await patient.call('POST', `careplan/${id}/participant`, body),
        201,
      )
      const participant = `careplan/${id}/participant/${participationId}`
      assertStatus(await patient.call('PUT', participant, { access: 'WRITE', end: soon() }))
      const plan = `/med/${patient.ehrId}/careplan/${id}`
      await waitUntil(async () => (await guest.call('GET', plan)).status === 404)
      assertStatus(await patient.call('DELETE', participant), 204)
      const settings = `/med/${patient.ehrId}/careplan/${id}/settings`
      for (const saved of [1, 2]) assertStatus(await patient.call('POST', settings, { saved }))
      assertStatus(await patient.call('GET', settings))
      assertStatus(await patient.call('GET', '/ehr?limit=1'))
      const { ehrId } = await createEhrAbout(patient, await createPerson())
      assertStatus(await patient.call('GET', '/ehr/pending?count=true'))
      assertStatus(await patient.call('POST', `/ehr/${ehrId}/accept`))
      assertStatus(await patient.call('POST', '/ehr', {}), 201)
      assertStatus(await patient.call('DELETE', `/med/ehr/${patient.ehrId}`), 204)
      await purgeDeletedEhrs({ ...service, contents: containedCollections }, new Date(), async () => {})
      assertStatus(await admin.call('POST', `/med/ehr/${patient.ehrId}/restore`))
    }, /^(ehr|plan|history)\./)
    assert.ok(commands.length > 80, String(commands.length))
    await assertNoScan(commands)
  })

  it('never scans one in background jobs either', async () => {
    const owner = await createPatient()
    const id = await createPlan(owner)
    await createTask(owner, id, await createGoal(owner, id))
    assertStatus(await owner.call('DELETE', `/med/ehr/${owner.ehrId}`), 204)
    const commands = await recordAllCommands(async (sentCommands) => {
      for (const days of [0, 32])
        await purgeDeletedEhrs(
          { ...service, contents: containedCollections },
          new Date(Date.now() + days * DAY_MS),
          async () => {},
        )
      await removeEntriesBefore(service.db, config.auditKey, new Date(0))
      await waitUntil(() => describeCommands(sentCommands).includes('find plan.participants'))
    }, /^(ehr|plan|history|audit)\.|^mails$/)
    const names = describeCommands(commands)
    for (const job of [
      'find ehr.removed',
      'find history.changes',
      'find plan.participants',
      'find audit.entries',
    ])
      assert.ok(names.includes(job), job)
    await assertNoScan(commands)
  })
})
