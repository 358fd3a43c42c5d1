import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import { verifyAudit } from '../../../records/store/audit/verifier.ts'
import { newPatient, newPlan, type Patient } from '../../harness/care/patients.ts'
import { ok } from '../../harness/clients/path-client.ts'
import { newPerson, type Person } from '../../harness/people/people.ts'
import { startNeighbour } from '../../harness/service/neighbour.ts'
import { type ServiceProcess, stopProcess } from '../../harness/service/process.ts'
import { config, service } from '../../harness/service/service.ts'
import { until } from '../../harness/until.ts'

describe('two instances on one database', function suite() {
  this.timeout(60_000)
  let other: ServiceProcess
  let patient: Patient
  let planId: string
  let nurse: Person
  let leaver: Person

  before(async () => {
    other = await startNeighbour({ INSTANCES: 'several' })
    ;[patient, nurse, leaver] = await Promise.all([newPatient(), newPerson(), newPerson()])
    planId = await newPlan(patient)
  })
  after(() => stopProcess(other))

  /** What somebody is answered about the plan by an instance, in the path family and the class family. */
  async function answers(url: string, { authToken, headers }: Person): Promise<number[]> {
    const path = `${url}/ehr/${patient.ehrId}/careplan/${planId}`
    const byPath = await fetch(path, { headers: { authorization: `Bearer ${authToken}` } })
    const byClass = await fetch(`${url}/1/classes/CarePlan/${planId}`, { headers })
    return [byPath.status, byClass.status]
  }

  it('both know who takes part in a care plan: at once where it was changed, soon on the other', async () => {
    const participants = `careplan/${planId}/participant`
    const add = async ({ mvUid }: Person): Promise<string> =>
      ok(await patient.call('POST', participants, { mvUid, access: 'READ' }), 201).participationId
    const known = async (url: string) => [await answers(url, nurse), await answers(url, leaver)]
    const [yes, no] = [
      [200, 200],
      [404, 404],
    ]
    const participationId = await add(leaver)
    assert.deepEqual(await Promise.all([known(service.url), known(other.url)]), [
      [no, yes],
      [no, yes],
    ])
    await add(nurse)
    ok(await patient.call('DELETE', `${participants}/${participationId}`), 204)
    assert.deepEqual(await known(service.url), [yes, no])
    await until(async () => isDeepStrictEqual(await known(other.url), [yes, no]))
  })

  it('both write to the audit, which holds together', async () => {
    const all = service.db.collection('audit.entries').find({ ehrId: patient.ehrId, userId: nurse.mvUid })
    const entries = await all.toArray()
    assert.equal(new Set(entries.map(({ _id }) => String(_id).split('-')[0])).size, 2)
    assert.equal((await verifyAudit(service.db, config.auditKey)).broken, null)
  })
})
