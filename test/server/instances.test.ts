import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { verifyAudit } from '../../records/store/audit/verifier.ts'
import { newPatient, newPlan, type Patient } from '../harness/care/patients.ts'
import { ok } from '../harness/clients/path-family.ts'
import { newPerson, type Person } from '../harness/people/people.ts'
import { startNeighbour } from '../harness/service/neighbour.ts'
import { type ServiceProcess, stopProcess } from '../harness/service/process.ts'
import { config, keys, service } from '../harness/service/service.ts'

/** How old what an instance knows of roles may be. */
const CACHED_MS = 5_000

describe('two instances on one database', function suite() {
  this.timeout(60_000)
  let other: ServiceProcess
  let patient: Patient
  let planId: string
  let nurse: Person

  before(async () => {
    other = await startNeighbour({ INSTANCES: 'several' })
    ;[patient, nurse] = await Promise.all([newPatient(), newPerson()])
    planId = await newPlan(patient)
  })
  after(() => stopProcess(other))

  /** What the nurse is answered about the plan, here and there, by the path family and the class family. */
  async function answers(url: string): Promise<number[]> {
    const path = `${url}/ehr/${patient.ehrId}/careplan/${planId}`
    const byPath = await fetch(path, { headers: { authorization: `Bearer ${nurse.authToken}` } })
    const session = { ...keys(), 'X-Parse-Session-Token': nurse.sessionToken }
    const byClass = await fetch(`${url}/1/classes/CarePlan/${planId}`, { headers: session })
    return [byPath.status, byClass.status]
  }

  it('both know who takes part in a care plan: at once where it was changed, within 5 s on the other', async () => {
    const participants = `careplan/${planId}/participant`
    const here = () => answers(service.url)
    const there = () => answers(other.url)
    assert.deepEqual(await Promise.all([here(), there()]), [
      [404, 404],
      [404, 404],
    ])
    const added = await patient.call('POST', participants, { mvUid: nurse.mvUid, access: 'READ' })
    assert.deepEqual(await here(), [200, 200])
    await sleep(CACHED_MS)
    assert.deepEqual(await there(), [200, 200])
    ok(await patient.call('DELETE', `${participants}/${ok(added, 201).participationId}`), 204)
    assert.deepEqual(await here(), [404, 404])
    await sleep(CACHED_MS)
    assert.deepEqual(await there(), [404, 404])
  })

  it('both write to the audit, which holds together', async () => {
    const all = service.db.collection('audit.entries').find({ ehrId: patient.ehrId, userId: nurse.mvUid })
    const entries = await all.toArray()
    assert.equal(new Set(entries.map(({ _id }) => String(_id).split('-')[0])).size, 2)
    assert.equal((await verifyAudit(service.db, config.auditKey)).broken, null)
  })
})
