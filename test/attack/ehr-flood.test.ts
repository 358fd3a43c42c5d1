import assert from 'node:assert/strict'
import { createClassClient } from '../harness/clients/class-client.ts'
import { assertProblem, assertStatus } from '../harness/clients/path-client.ts'
import { createAdmin, createPerson, type Person } from '../harness/people/people.ts'
import { isFullSize } from '../harness/test-size.ts'

const MAX_EHRS = 100

/** Creates EHRs without end, through both families and concurrently. */
describe('attack: a flood of EHRs', function suite() {
  this.timeout(60_000)

  const bothWays = async (person: Person, count: number): Promise<number[]> => {
    const { post } = createClassClient(person)
    const requests = Array.from({ length: count }, (_, i) =>
      i % 2
        ? person.call('POST', '/ehr', { subjectId: `patient ${i}` }).then(({ status }) => status)
        : post('Ehr', { subjectId: `patient ${i}` }).then(({ status }) => status),
    )
    return Promise.all(requests)
  }
  const heldBy = async (person: Person): Promise<number> =>
    assertStatus(await person.call('GET', '/ehr?limit=1000')).items.length

  it('stops at 100 for an account, not counting its own, whoever is first', async () => {
    const flooder = await createPerson()
    const statuses: number[] = []
    for (let i = 0; i < 2; i++) statuses.push(...(await bothWays(flooder, 52)))
    assert.equal(statuses.filter((status) => status === 201).length, MAX_EHRS)
    assert.equal(await heldBy(flooder), MAX_EHRS + 1)
    const one = { subjectId: 'one more' }
    assert.deepEqual(assertProblem(await flooder.call('POST', '/ehr', one), 422, 'rule-violated'), ['full'])
    const { body } = await createClassClient(flooder).post('Ehr', one).expect(400)
    assert.equal(body.code, 142)

    const { items } = assertStatus(await flooder.call('GET', '/ehr?limit=3'))
    assertStatus(await flooder.call('DELETE', `/med/ehr/${items[1].id}`), 204)
    await createClassClient(flooder).delete('Ehr', items[2].id).expect(200)
    assert.deepEqual((await bothWays(flooder, 4)).filter((status) => status === 201).length, 2)
    assert.equal(await heldBy(flooder), MAX_EHRS + 1)
  })

  it('queues requests that arrive together, and never answers 503', async () => {
    const flooder = await createPerson()
    const statuses = await bothWays(flooder, 130)
    const counts = [201, 422, 400, 429].map((status) => statuses.filter((one) => one === status).length)
    assert.equal(
      counts.reduce((sum, count) => sum + count, 0),
      130,
      `${statuses}`,
    )
    assert.equal(counts[0], await heldBy(flooder).then((count) => count - 1))
    if (counts[3] === 0) assert.equal(counts[0], MAX_EHRS)
  })

  if (isFullSize)
    it('does not limit administrators, who create EHRs for others', async () => {
      const admin = await createAdmin()
      for (let i = 0; i < MAX_EHRS + 1; i += 51)
        for (const status of await bothWays(admin, 51)) assert.equal(status, 201)
    })
})
