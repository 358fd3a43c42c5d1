import assert from 'node:assert/strict'
import type { Document } from 'mongodb'
import { sweepRemovedEhrs } from '../../records/ehrs/removed.ts'
import { assertNoScan, commandsOf } from '../database-commands.ts'
import { service } from '../helper.ts'
import { newGoal, newPatient, newPlan, newTask, ok, type Patient } from './clinic.ts'
import { newAdmin } from './people.ts'

const named = (commands: Document[]) =>
  commands.map((command) => `${command.commandName} ${command[command.commandName]}`).sort()

describe('the work of the database for care plans', () => {
  let patient: Patient
  let planId: string
  before(async () => {
    patient = await newPatient()
    planId = await newPlan(patient)
  })

  it('is one read for what is shown', async () => {
    ok(await patient.call('GET', `careplan/${planId}`))
    const shown = await commandsOf(() => patient.call('GET', `careplan/${planId}`))
    assert.deepEqual(named(shown), ['find CarePlan', 'find Goal', 'find Task'])
    assert.deepEqual(named(await commandsOf(() => patient.call('GET', 'careplan'))), ['find CarePlan'])
    assert.deepEqual(named(await commandsOf(() => patient.call('GET', '/ehr'))), ['find Ehr'])
  })

  it('never goes through a whole collection', async () => {
    const admin = await newAdmin()
    const commands = await commandsOf(async () => {
      const id = await newPlan(patient)
      const goalId = await newGoal(patient, id)
      const taskId = await newTask(patient, id, goalId, { dueDate: '2026-01-01' })
      const task = `careplan/${id}/goal/${goalId}/task/${taskId}`
      ok(await patient.call('PUT', task, { name: 'x' }))
      ok(await patient.call('GET', `${task}/history`))
      ok(await patient.call('POST', `${task}/restore`, { version: 1 }))
      ok(await patient.call('GET', `/med/${patient.ehrId}/careplan/${id}/goal/${goalId}`))
      for (const query of ['', '?status=ACTIVE&name=x', '?from=2026-01-01&to=2027-01-01&count=true&limit=1'])
        ok(await patient.call('GET', `careplan${query}`))
      for (const query of [
        '',
        '?assignee=x',
        '?dueBefore=2027-01-01&count=true',
        `?carePlanId=${id}&limit=1`,
      ])
        ok(await patient.call('GET', `careplan/todo${query}`))
      ok(await patient.call('POST', `careplan/${id}/close`, { closeOpen: true }))
      ok(await patient.call('POST', 'careplan/template/asthma', {}), 201)
      ok(await patient.call('GET', '/ehr?limit=1'))
      ok(await patient.call('POST', '/ehr', {}), 201)
      ok(await patient.call('DELETE', `/med/ehr/${patient.ehrId}`), 204)
      await sweepRemovedEhrs(service, new Date())
      ok(await admin.call('POST', `/med/ehr/${patient.ehrId}/restore`))
    }, /^(ehr|plan|history)\./)
    assert.ok(commands.length > 80, String(commands.length))
    await assertNoScan(commands)
  })
})
