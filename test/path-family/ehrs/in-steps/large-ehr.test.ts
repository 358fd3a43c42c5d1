import assert from 'node:assert/strict'
import { Ehrs } from '../../../../records/ehrs/ehrs.ts'
import { newId } from '../../../../records/store/documents/ids.ts'
import { jobCollection } from '../../../../records/store/jobs/background-jobs.ts'
import type { Patient } from '../../../harness/care/patients.ts'
import { createClassClient } from '../../../harness/clients/class-client.ts'
import { assertProblem, assertStatus } from '../../../harness/clients/path-client.ts'
import type { Person } from '../../../harness/people/people.ts'
import { service } from '../../../harness/service/service.ts'
import { waitUntil } from '../../../harness/wait.ts'
import {
  audited,
  callerOf,
  heldUp,
  isAnswered,
  isSound,
  largePlan,
  sceneOfBlock,
  takenOver,
  unfilteredCollection,
} from './interrupted.ts'

describe('a large EHR, in several transactions', function suite() {
  this.timeout(60_000)
  const scene = sceneOfBlock()

  const seenBy = async (person: Person, { ehrId }: Patient, planId: string) => {
    const task = createClassClient(person).list('Task', { carePlanId: planId }).query({ count: 1, limit: 0 })
    const answers = await Promise.all([
      person.call('GET', `/ehr/${ehrId}/careplan/${planId}`),
      person.call('GET', `/ehr/${ehrId}/careplan/todo?limit=1`),
      person.call('GET', `/ehr/${ehrId}/summary/timeline?limit=1`),
    ])
    return [...answers.map(({ status }) => status), (await task).body.count].join()
  }

  it('disappears for everybody at once, and is restored unchanged', async () => {
    const { owner, planId, path, tasks } = await largePlan(scene.nurse)
    const before = assertStatus(await scene.nurse.call('GET', path))
    const permissions = await unfilteredCollection('Task').findOne({ carePlanId: planId })
    assertStatus(await owner.call('DELETE', `/med/ehr/${owner.ehrId}`), 204)
    for (const person of [owner, scene.nurse, scene.stranger, scene.admin])
      assert.equal(await seenBy(person, owner, planId), '404,404,404,0')
    await waitUntil(async () => (await jobCollection(service).countDocuments({ id: owner.ehrId })) === 0)
    const hidden = { carePlanId: planId, _rperm: /^removed:/ }
    assert.equal(await unfilteredCollection('Task').countDocuments(hidden), tasks)
    assertStatus(await scene.admin.call('POST', `/med/ehr/${owner.ehrId}/restore`))
    assert.deepEqual(assertStatus(await scene.nurse.call('GET', path)), before)
    assert.deepEqual(await unfilteredCollection('Task').findOne({ _id: permissions?._id ?? '' }), permissions)
    assert.equal(await seenBy(owner, owner, planId), `200,200,200,${tasks}`)
    await isSound()
  })

  it('stays hidden if the process is killed between two steps, and can be restored even then', async () => {
    const { owner, planId, tasks, path } = await largePlan(scene.nurse)
    const { ehrId } = owner
    const ehrs = new Ehrs(scene.dying)
    await ehrs.remove(callerOf(owner), ehrId, undefined)
    await heldUp(ehrId)
    assert.equal(await unfilteredCollection('Task').countDocuments({ ehrId, _rperm: /^removed:/ }), 0)
    await waitUntil(async () => (await seenBy(owner, owner, planId)) === '404,404,404,0')
    for (const person of [scene.nurse, scene.stranger])
      assert.equal(await seenBy(person, owner, planId), '404,404,404,0')
    assertProblem(await owner.call('PUT', path, { name: 'x' }, { 'if-match': '"1"' }), 404, 'not-found')
    assertProblem(await owner.call('POST', `/med/ehr/${ehrId}/restore`), 403, 'forbidden')
    await takenOver()
    await waitUntil(async () => (await jobCollection(service).countDocuments({ id: ehrId })) === 0)
    assert.equal(await unfilteredCollection('Task').countDocuments({ ehrId, _rperm: /^removed:/ }), tasks)

    await ehrs.restore({ ...callerOf(scene.admin), roles: ['admin'] }, ehrId, false).catch(() => {})
    await heldUp(ehrId)
    assert.equal(await seenBy(owner, owner, planId), '404,404,404,0')
    const key = { 'idempotency-key': newId() }
    const second = scene.admin.call('POST', `/med/ehr/${ehrId}/restore`, undefined, key)
    assert.equal(await isAnswered(second), false)
    await takenOver()
    assertStatus(await second)
    assert.equal(await seenBy(owner, owner, planId), `200,200,200,${tasks}`)
    assertStatus(await scene.admin.call('POST', `/med/ehr/${ehrId}/restore`, undefined, key))
    assert.deepEqual(await audited(ehrId, 'create', 'Ehr'), [1, 1])
    await isSound()
  })
})
