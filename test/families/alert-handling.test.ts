import assert from 'node:assert/strict'
import { byClass } from '../family-kinds.ts'
import {
  addParticipant,
  createAlert,
  createPatient,
  createPlan,
  createWeight,
  type Patient,
  readAudit,
} from '../harness/care/patients.ts'
import { callFunction } from '../harness/clients/class-client.ts'
import { assertStatus } from '../harness/clients/path-client.ts'
import { createPerson, type Person } from '../harness/people/people.ts'

type Values = Record<string, unknown>

/** The result of a step: the handling, or the refusal with the fields that it names. */
interface Outcome {
  handling?: Values
  version?: number
  status?: number
  paths?: string
}

interface Family {
  step(who: Person, alertId: string, step: Values, version?: number): Promise<Outcome>
  read(who: Person, alertId: string): Promise<Values>
}

const STATUSES: Readonly<Record<number, number>> = { 101: 404, 119: 403, 142: 422, 412: 412 }

const familiesOf = ({ ehrId }: Patient): Record<'path' | 'class', Family> => ({
  path: {
    async step(who, alertId, step, version) {
      const headers: Record<string, string> = version === undefined ? {} : { 'if-match': `"${version}"` }
      const { status, body } = await who.call('POST', `/ehr/${ehrId}/alert/${alertId}/handle`, step, headers)
      if (status === 200) return { handling: handlingOf(body), version: body.version }
      const paths = (body.errors ?? []).map(({ path }: { path: string }) => path.replace('body.', ''))
      return { status, paths: paths.join() }
    },
    read: async (who, alertId) =>
      handlingOf(assertStatus(await who.call('GET', `/med/${ehrId}/event/${alertId}`))),
  },
  class: {
    async step(who, eventId, step, version) {
      const { body } = await callFunction(who, 'handleAlert', {
        eventId,
        ...step,
        ...(version && { version }),
      })
      if (body.result) return { handling: handlingOf(body.result), version: body.result.version }
      const paths = [...String(body.error).matchAll(/(?:^|; )(action|note)\b/g)].map(([, path]) => path)
      return { status: STATUSES[body.code] ?? body.code, paths: paths.join() }
    },
    read: async (who, alertId) => handlingOf((await byClass(who).get('Event', alertId)).body),
  },
})

/** The fields of an alert that tell how people have dealt with it; times as texts. */
const handlingOf = (alert: Values): Values =>
  Object.fromEntries(
    [...ALERT_FIELDS].flatMap((name) => {
      const value = alert[name] as { iso?: string } | string | null | undefined
      return value ? [[name, (value as { iso?: string }).iso ?? value]] : []
    }),
  )
const ALERT_FIELDS = ['alertState', 'seenBy', 'seenAt', 'takenBy', 'takenAt', 'resolvedAt', 'resolution']

/** The handling without its times, which must be those of the last minute. */
function withoutTimes(handling: Values | undefined): Values {
  const entries = Object.entries(handling ?? {})
  for (const [name, value] of entries)
    if (name.endsWith('At')) assert.ok(Math.abs(Date.parse(String(value)) - Date.now()) < 60_000, name)
  return Object.fromEntries(entries.filter(([name]) => !name.endsWith('At')))
}

for (const family of ['path', 'class'] as const)
  describe(`handling an alert, by the ${family} family`, () => {
    let patient: Patient
    let planId: string
    let nurse: Person
    let colleague: Person
    let step: Family['step']
    let read: Family['read']
    before(async () => {
      patient = await createPatient()
      ;({ step, read } = familiesOf(patient)[family])
      planId = await createPlan(patient)
      nurse = await createPerson()
      colleague = await createPerson()
      for (const one of [nurse, colleague]) await addParticipant(planId, one, 'write')
    })

    it('leads from new to seen, taken and resolved, with who did it', async () => {
      const id = await createAlert(patient, planId)
      assert.deepEqual(await read(nurse, id), { alertState: 'NEW' })
      const a = nurse.mvUid
      const b = colleague.mvUid
      const handling = async (who: Person, values: Values) =>
        withoutTimes((await step(who, id, values)).handling)
      assert.deepEqual(await handling(nurse, { action: 'SEE' }), { alertState: 'SEEN', seenBy: a })
      assert.deepEqual(await handling(colleague, { action: 'SEE' }), { alertState: 'SEEN', seenBy: a })
      const takenHandling = { alertState: 'TAKEN', seenBy: a, takenBy: b }
      assert.deepEqual(await handling(colleague, { action: 'TAKE' }), takenHandling)
      const resolved = { ...takenHandling, alertState: 'RESOLVED', resolution: 'Called' }
      assert.deepEqual(await handling(colleague, { action: 'RESOLVE', note: 'Called' }), resolved)
      assert.deepEqual(withoutTimes(await read(nurse, id)), resolved)
    })

    it('gives each change a version, an entry in the history and one in the audit', async () => {
      const since = new Date()
      const id = await createAlert(patient, planId)
      for (const action of ['SEE', 'SEE', 'TAKE', 'TAKE', 'RELEASE', 'RELEASE', 'TAKE'])
        await step(nurse, id, { action })
      for (let i = 0; i < 2; i++) await step(nurse, id, { action: 'RESOLVE', note: 'Called' })
      const took = ['alertState', 'takenAt', 'takenBy']
      const { items } = assertStatus(await nurse.call('GET', `/med/${patient.ehrId}/event/${id}/history`))
      assert.deepEqual(
        items.map(({ version, userId, changed }: Values) => [version, userId, (changed as string[]).sort()]),
        [
          [6, nurse.mvUid, ['alertState', 'resolution', 'resolvedAt']],
          [5, nurse.mvUid, took],
          [4, nurse.mvUid, took],
          [3, nurse.mvUid, took],
          [2, nurse.mvUid, ['alertState', 'seenAt', 'seenBy']],
          [1, patient.mvUid, []],
        ],
      )
      const updates = (await readAudit(patient.ehrId, since)).filter((line) => line === 'update Event done')
      assert.equal(updates.length, 5)
    })

    it('is refused for an alert that another user has taken, until it is released', async () => {
      const id = await createAlert(patient, planId)
      await step(nurse, id, { action: 'TAKE' })
      const refusal = { status: 422, paths: 'action' }
      assert.deepEqual(await step(colleague, id, { action: 'TAKE' }), refusal)
      assert.deepEqual(await step(colleague, id, { action: 'RESOLVE', note: 'Done' }), refusal)
      await step(colleague, id, { action: 'RELEASE' })
      const { handling } = await step(colleague, id, { action: 'TAKE' })
      assert.equal(handling?.takenBy, colleague.mvUid)
    })

    it('is final once the alert is resolved', async () => {
      const id = await createAlert(patient, planId)
      await step(nurse, id, { action: 'RESOLVE', note: 'Called' })
      const refusal = { status: 422, paths: 'action' }
      assert.deepEqual(await step(nurse, id, { action: 'TAKE' }), refusal)
      assert.deepEqual(await step(nurse, id, { action: 'RESOLVE', note: 'Called twice' }), refusal)
      assert.deepEqual(await step(colleague, id, { action: 'RESOLVE', note: 'Called' }), refusal)
    })

    it('needs a note to resolve, and no other step takes one', async () => {
      const id = await createAlert(patient, planId)
      assert.deepEqual(await step(nurse, id, { action: 'RESOLVE' }), { status: 422, paths: 'note' })
      assert.deepEqual(await step(nurse, id, { action: 'SEE', note: 'Hm' }), { status: 422, paths: 'note' })
      await step(nurse, id, { action: 'TAKE' })
      const answer = await step(colleague, id, { action: 'TAKE', note: 'Mine' })
      assert.deepEqual(answer, { status: 422, paths: 'note,action' })
    })

    it('lets one of two users take the version that both have read', async () => {
      const id = await createAlert(patient, planId)
      const outcomes = await Promise.all(
        [nurse, colleague].map((who) => step(who, id, { action: 'TAKE' }, 1)),
      )
      assert.deepEqual(outcomes.map(({ status = 200 }) => status).sort(), [200, 412])
    })

    it('needs write access to the plan; strangers learn nothing; other events have no handling', async () => {
      const id = await createAlert(patient, planId)
      const reader = await createPerson()
      const stranger = await createPerson()
      await addParticipant(planId, reader, 'read')
      const statusOf = async (who: Person, alertId: string) =>
        (await step(who, alertId, { action: 'SEE' })).status
      assert.deepEqual([await statusOf(reader, id), await statusOf(stranger, id)], [403, 404])
      const note = { type: 'note', title: 'A call', start: '2026-03-01T08:30:00Z', carePlanId: planId }
      const event = assertStatus(await patient.call('POST', `/med/${patient.ehrId}/event`, note), 201)
      assert.deepEqual(handlingOf(event), {})
      assert.equal(await statusOf(nurse, event.id), 404)
      assert.equal(await statusOf(nurse, await createWeight(patient, planId)), 404)
    })

    it('stays when the alert is corrected, deleted with its measurement and restored', async () => {
      const id = await createAlert(patient, planId)
      const takenHandling = { alertState: 'TAKEN', seenBy: nurse.mvUid, takenBy: nurse.mvUid }
      await step(nurse, id, { action: 'TAKE' })
      const pressure = `procedure/bloodpressure/${id}`
      const { version: _, ...values } = assertStatus(await patient.call('GET', pressure))
      const correct = async (systolic: number, diastolic: number) =>
        assertStatus(await patient.call('PUT', pressure, { ...valuesOf(values), systolic, diastolic }))
      for (const [systolic, diastolic] of [
        [150, 95],
        [118, 76],
        [190, 115],
      ] as const) {
        await correct(systolic, diastolic)
        assert.deepEqual(withoutTimes(await read(nurse, id)), takenHandling)
      }
      assert.equal((await patient.call('DELETE', pressure)).status, 204)
      assertStatus(await patient.call('POST', `${pressure}/restore`, { version: 1 }))
      assert.deepEqual(withoutTimes(await read(nurse, id)), takenHandling)
    })

    it('cannot be written like other fields', async () => {
      const id = await createAlert(patient, planId)
      const path = `/med/${patient.ehrId}/event/${id}`
      const event = assertStatus(await nurse.call('GET', path))
      const forged = { alertState: 'RESOLVED', takenBy: colleague.mvUid, resolution: 'Done' }
      assert.equal((await nurse.call('PUT', path, { ...event, ...forged })).status, 400)
      for (const [name, value] of Object.entries({ ...forged, urgency: 1 }))
        assert.equal((await byClass(nurse).put('Event', id, { [name]: value })).body.code, 142, name)
      assertStatus(await nurse.call('PUT', path, { ...event, description: 'Called' }))
      await byClass(nurse).put('Event', id, { location: 'At home' })
      assert.deepEqual(await read(nurse, id), { alertState: 'NEW' })
    })
  })

/** The fields of a blood pressure that a client replaces. */
const valuesOf = ({ timestamp, systolicUnit, diastolicUnit }: Values) => ({
  timestamp,
  systolicUnit,
  diastolicUnit,
})
