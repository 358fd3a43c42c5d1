import assert from 'node:assert/strict'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { verifyAudit } from '../../../records/store/audit/verifier.ts'
import { createPatient, createPlan, createWeight, type Patient } from '../../harness/care/patients.ts'
import { openEventSource } from '../../harness/clients/event-source.ts'
import { subscribeBySdk } from '../../harness/clients/live-client.ts'
import { createPerson, type Person } from '../../harness/people/people.ts'
import { withFrozenClock } from '../../harness/service/clock.ts'
import { startSecondInstance } from '../../harness/service/second-instance.ts'
import { config, service } from '../../harness/service/service.ts'
import { type ServiceProcess, stopProcess } from '../../harness/service/service-process.ts'
import { waitUntil } from '../../harness/wait.ts'

describe('instances on one database', function suite() {
  this.timeout(60_000)
  /** The service of the tests does not know that there are others. */
  let one: ServiceProcess
  let other: ServiceProcess
  let patient: Patient
  let planId: string
  let nurse: Person
  let leaver: Person

  before(async () => {
    const start = () => startSecondInstance({ INSTANCES: 'several' })
    ;[one, other] = await Promise.all([start(), start()])
    ;[patient, nurse, leaver] = await Promise.all([createPatient(), createPerson(), createPerson()])
    planId = await createPlan(patient)
  })
  after(() => Promise.all([one, other].map(stopProcess)))

  /** The statuses of an instance's responses about the plan, in the path family and the class family. */
  async function answers(url: string, { authToken, headers }: Person): Promise<number[]> {
    const path = `${url}/ehr/${patient.ehrId}/careplan/${planId}`
    const byPath = await fetch(path, { headers: { authorization: `Bearer ${authToken}` } })
    const byClass = await fetch(`${url}/1/classes/CarePlan/${planId}`, { headers })
    return [byPath.status, byClass.status]
  }

  /** Changes the participants of the plan on the other instance. */
  async function change(method: string, path = '', body?: object): Promise<Response> {
    const headers = { authorization: `Bearer ${patient.authToken}`, 'content-type': 'application/json' }
    const participants = `${other.url}/ehr/${patient.ehrId}/careplan/${planId}/participant`
    const answer = await fetch(participants + path, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    })
    assert.ok(answer.ok, String(answer.status))
    return answer
  }

  it('apply changes of participants at once where they were made, and within 5 s on the other', async () => {
    const add = async ({ mvUid }: Person): Promise<string> => {
      const added = await change('POST', '', { mvUid, access: 'READ' })
      return ((await added.json()) as { participationId: string }).participationId
    }
    const readStatuses = async (url: string) => [await answers(url, nurse), await answers(url, leaver)]
    const yes = [200, 200]
    const no = [404, 404]
    await withFrozenClock(async (pass) => {
      const participationId = await add(leaver)
      pass(5_001)
      assert.deepEqual(await Promise.all([readStatuses(service.url), readStatuses(other.url)]), [
        [no, yes],
        [no, yes],
      ])
      await add(nurse)
      await change('DELETE', `/${participationId}`)
      assert.deepEqual(await readStatuses(other.url), [yes, no])
      pass(5_001)
      assert.deepEqual(await readStatuses(service.url), [yes, no])
    })
  })

  it('warn when their settings differ, and name the variables without values', async () => {
    const settings = {
      PUBLIC_URL: 'https://elsewhere.example.org',
      TERMS_VERSION: 'seventh',
      REST_API_KEY: 'another-key-of-the-tests',
      CARE_PLAN_TEMPLATES: mkdtempSync(join(tmpdir(), 'templates-')),
    }
    const file = join(settings.CARE_PLAN_TEMPLATES, 'walking.json')
    const name = { en: 'Walk', nl: 'Lopen' }
    const goals = [{ name, dueDay: 7, tasks: [{ name, dueDay: 3, priority: 'HIGH' }] }]
    const template = { id: 'walking', name, description: name, durationDays: 14, goals }
    writeFileSync(file, JSON.stringify(template))
    const different = await startSecondInstance({ INSTANCES: 'several', ...settings })
    const warning =
      /Another instance .* has other values of PUBLIC_URL, TERMS_VERSION, .*CARE_PLAN_TEMPLATES, .*REST_API_KEY/
    await waitUntil(() => warning.test(different.output()))
    await stopProcess(different)
    const lines = different
      .output()
      .split('\n')
      .filter((line) => warning.test(line))
    assert.equal(lines.length, 1)
    for (const value of Object.values(settings)) assert.ok(!lines[0]?.includes(value), lines[0])
    assert.doesNotMatch(lines[0] ?? '', /OPENEHR_SYSTEM_ID|MASTER_KEY|TEXT_PACKS/)
  })

  it('send the changes of all in the order of their writes, and resume where the other one stopped', async () => {
    const path = `/ehr/${patient.ehrId}/changes`
    const ownStream = await openEventSource(patient, path, { url: one.url })
    const otherStream = await openEventSource(patient, path, { url: other.url })
    const live = [
      await subscribeBySdk(nurse, 'BodyWeight', (query) => query, one.url),
      await subscribeBySdk(nurse, 'BodyWeight', (query) => query, other.url),
    ]
    const write = async (url: string, weight: number) => {
      const headers = { ...patient.headers, 'content-type': 'application/json' }
      const timestamp = { __type: 'Date', iso: '2026-03-01T08:30:00.000Z' }
      const body = JSON.stringify({ carePlanId: planId, weight, weightUnit: 'kg', timestamp })
      const answer = await fetch(`${url}/1/classes/BodyWeight`, { method: 'POST', headers, body })
      assert.equal(answer.status, 201, await answer.text())
    }
    const weights = Array.from({ length: 12 }, (_, i) => 50 + i)
    for (const weight of weights) await write(weight % 2 === 0 ? one.url : other.url, weight)
    for (const { next } of live)
      for (const weight of weights) assert.equal((await next())[1].get('weight'), weight)
    const ids: unknown[] = []
    for (const _ of weights) ids.push((await ownStream.next()).id)
    for (const id of ids) assert.equal((await otherStream.next()).id, id)
    const resumed = await openEventSource(patient, path, { url: other.url, after: String(ids[0]) })
    for (const id of ids.slice(1)) assert.equal((await resumed.next()).id, id)
    for (const source of [ownStream, otherStream, resumed, ...live]) source.close()
  })

  it('warn in the log that there are others, if nobody has told them', async () => {
    const unaware = await startSecondInstance({})
    try {
      const source = await openEventSource(patient, `/ehr/${patient.ehrId}/changes`, { url: unaware.url })
      await createWeight(patient, planId)
      await source.next()
      await waitUntil(() => unaware.output().includes('INSTANCES=several'))
      source.close()
    } finally {
      await stopProcess(unaware)
    }
    assert.ok(!one.output().includes('INSTANCES=several'))
  })

  it('all write to the audit, which verifies', async () => {
    const accesses = service.db
      .collection('audit.entries')
      .find({ ehrId: patient.ehrId, userId: nurse.mvUid })
    const entries = await accesses.toArray()
    assert.equal(new Set(entries.map(({ _id }) => String(_id).split('-')[0])).size, 3)
    assert.equal((await verifyAudit(service.db, config.auditKey)).broken, null)
  })

  it('have all records in the audit that subscribers received before one instance is stopped', async () => {
    const source = await openEventSource(patient, `/ehr/${patient.ehrId}/changes`, { url: other.url })
    const { next, close } = await subscribeBySdk(nurse, 'BodyWeight', (query) => query, other.url)
    const writtenIds = [await createWeight(patient, planId), await createWeight(patient, planId)]
    for (const id of writtenIds)
      assert.deepEqual([(await source.next()).data.id, (await next())[1].id], [id, id])
    other.child.kill('SIGTERM')
    assert.equal(await other.ended, 0)
    for (const one of [source, { close }]) one.close()
    const filter = { ehrId: patient.ehrId, type: 'BodyWeight', action: 'read', ids: { $in: writtenIds } }
    for (const { mvUid: userId } of [patient, nurse]) {
      const entries = service.db.collection('audit.entries').find({ ...filter, userId })
      const heard = (await entries.toArray())
        .flatMap(({ ids }) => ids)
        .filter((id) => writtenIds.includes(id))
      assert.deepEqual(heard.sort(), [...writtenIds].sort())
    }
  })
})
