import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { createPatient, createPlan, type Patient } from '../harness/care/patients.ts'
import { logInAs } from '../harness/people/people.ts'
import { startSecondInstance } from '../harness/service/second-instance.ts'
import { service } from '../harness/service/service.ts'
import { type ServiceProcess, stopProcess } from '../harness/service/service-process.ts'
import { bySize } from '../harness/test-size.ts'
import { bloodPressureOf } from './fhir-client.ts'

const KILLS = bySize(3, 50)
const ENTRIES = 100

describe('a transaction in FHIR whose instance is killed', function () {
  this.timeout(1_800_000)
  let patient: Patient
  let planId: string
  let instance: ServiceProcess
  const start = async () => {
    instance = await startSecondInstance({ INSTANCES: 'several' })
  }
  before(async () => {
    patient = await createPatient()
    planId = await createPlan(patient)
    await start()
  })
  after(() => stopProcess(instance))

  const transaction = () =>
    JSON.stringify({
      resourceType: 'Bundle',
      type: 'transaction',
      entry: Array.from({ length: ENTRIES }, (_, i) => ({
        resource: bloodPressureOf(patient.ehrId, {
          basedOn: [{ reference: `CarePlan/${planId}` }],
          effectiveDateTime: new Date(Date.UTC(2026, 0, 1, 0, i)).toISOString(),
        }),
        request: { method: 'POST', url: 'Observation' },
      })),
    })

  const send = async (key: string): Promise<number> => {
    // A token lasts for a quarter of an hour, and many kills take longer.
    const { authToken } = await logInAs(patient.email)
    const { status } = await fetch(`${instance.url}/fhir/R4`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${authToken}`,
        'content-type': 'application/fhir+json',
        'idempotency-key': key,
      },
      body: transaction(),
    })
    return status
  }

  /** The number of records, of their histories and of their audited creations. */
  const count = async () => {
    const { ehrId } = patient
    const stored = { type: 'BloodPressure', action: 'create', ehrId } as const
    const entries = service.db.collection('audit.entries').find(stored).project({ ids: 1 })
    return {
      records: await service.db.collection('BloodPressure').countDocuments({ ehrId }),
      histories: await service.db
        .collection<{ _id: string }>('history.changes')
        .countDocuments({ _id: { $gte: `${ehrId}/BloodPressure/`, $lt: `${ehrId}/BloodPressure0` } }),
      audited: (await entries.toArray()).flatMap(({ ids }) => ids).length,
    }
  }

  it(`is stored as a whole or not at all, ${KILLS} times, and completed by a retry`, async () => {
    const startedAt = performance.now()
    assert.equal(await send('whole'), 200)
    const duration = performance.now() - startedAt
    const outcomes = { none: 0, whole: 0 }
    for (let i = 0; i < KILLS; i++) {
      const before = await count()
      const response = send(`killed-${i}`).catch(() => undefined)
      await sleep((duration * (i + 0.5)) / KILLS)
      instance.child.kill('SIGKILL')
      await Promise.all([instance.ended, response])
      const left = await count()
      const added = left.records - before.records
      assert.ok(added === 0 || added === ENTRIES, `${added} of ${ENTRIES} records after kill ${i}`)
      assert.deepEqual(left, { records: left.records, histories: left.records, audited: left.records })
      outcomes[added === 0 ? 'none' : 'whole'] += 1
      // The killed instance held the key for a while.
      await service.db.collection('idempotency_keys').updateMany({}, { $set: { leaseUntil: new Date(0) } })
      await start()
      assert.equal(await send(`killed-${i}`), 200)
      assert.equal((await count()).records, before.records + ENTRIES)
      if ((i + 1) % 10 === 0) console.log(`      kills, by what they left: ${JSON.stringify(outcomes)}`)
    }
  })
})
