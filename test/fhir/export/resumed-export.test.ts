import assert from 'node:assert/strict'
import { createPatient, createPlan, type Patient } from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { startSecondInstance } from '../../harness/service/second-instance.ts'
import { service } from '../../harness/service/service.ts'
import { type ServiceProcess, stopProcess } from '../../harness/service/service-process.ts'
import { waitFor } from '../../harness/wait.ts'
import { callFhir } from '../fhir-client.ts'

const COUNT = 5000

describe('a bulk export in FHIR whose instance is killed', function suite() {
  this.timeout(240_000)
  let patient: Patient
  let instance: ServiceProcess
  before(async () => {
    patient = await createPatient()
    const carePlanId = await createPlan(patient)
    for (let i = 0; i < COUNT; i += 500) {
      const items = Array.from({ length: 500 }, (_, j) => ({
        kind: 'bodyweight',
        weight: 70,
        weightUnit: 'kg',
        carePlanId,
        timestamp: new Date(Date.UTC(2020, 0, 1, 0, i + j)).toISOString(),
      }))
      assert.equal(assertStatus(await patient.call('POST', 'procedure/batch', { items })).stored, 500)
    }
    instance = await startSecondInstance({ INSTANCES: 'several' })
  })
  after(() => instance && stopProcess(instance))

  const exports = () =>
    service.db.collection<{ _id: string; position: object | null; steps: number }>('fhir.exports')

  /** Starts an export and kills its instance between two steps. @returns the id of the export */
  async function killDuringExport(): Promise<string> {
    for (let attempt = 0; attempt < 5; attempt++) {
      const started = await fetch(`${instance.url}/fhir/R4/Patient/$export?_type=Observation`, {
        headers: { authorization: `Bearer ${patient.authToken}`, prefer: 'respond-async' },
      })
      assert.equal(started.status, 202)
      const _id = started.headers.get('content-location')?.split('/').at(-1) ?? ''
      await waitFor(async () => (await exports().findOne({ _id, steps: { $gt: 0 } })) ?? undefined)
      instance.child.kill('SIGSTOP')
      if ((await exports().findOne({ _id }))?.position) {
        instance.child.kill('SIGKILL')
        await instance.ended
        return _id
      }
      // It was faster.
      instance.child.kill('SIGCONT')
      assertStatus(await callFhir(patient, 'DELETE', `export/${_id}`), 202)
    }
    return assert.fail('each export was complete before its instance could be killed')
  }

  it('is completed by another instance, with each resource once, and all of them in the audit', async () => {
    const _id = await killDuringExport()
    const { startedAt: since } = (await exports().findOne({ _id })) as unknown as { startedAt: Date }
    const manifest = await waitFor(async () => {
      const answer = await callFhir(patient, 'GET', `export/${_id}`)
      return answer.status === 200 ? answer.body : undefined
    })
    assert.deepEqual(
      manifest.output.map(({ type, count }: { type: string; count: number }) => [type, count]),
      [['Observation', COUNT]],
    )
    const { body } = await callFhir(patient, 'GET', `export/${_id}/Observation.ndjson`)
    const ids = body
      .trim()
      .split('\n')
      .map((line: string) => JSON.parse(line).id)
    assert.equal(ids.length, COUNT)
    assert.equal(new Set(ids).size, COUNT)
    const entries = await service.db
      .collection<{ ids: string[] }>('audit.entries')
      .find({ ehrId: patient.ehrId, at: { $gte: since }, action: 'query', type: 'BodyWeight' })
      .toArray()
    // A step that another instance has stored first was read twice, and the audit tells it.
    const audited = new Set(entries.flatMap((entry) => entry.ids))
    assert.deepEqual([...audited].sort(), ids.sort())
  })
})
