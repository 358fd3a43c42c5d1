import assert from 'node:assert/strict'
import { classesOf } from '../harness/clients/class-client.ts'
import { ok, refused } from '../harness/clients/path-client.ts'
import { newAdmin, newPerson, type Person } from '../harness/people/people.ts'
import { isFullSize } from '../harness/size.ts'

const MOST = 100

/** Makes EHRs without end, by both families and all at once. */
describe('attack: a flood of EHRs', function suite() {
  this.timeout(60_000)

  const bothWays = async (person: Person, count: number): Promise<number[]> => {
    const { post } = classesOf(person)
    const requests = Array.from({ length: count }, (_, i) =>
      i % 2
        ? person.call('POST', '/ehr', { subjectId: `patient ${i}` }).then(({ status }) => status)
        : post('Ehr', { subjectId: `patient ${i}` }).then(({ status }) => status),
    )
    return Promise.all(requests)
  }
  const heldBy = async (person: Person): Promise<number> =>
    ok(await person.call('GET', '/ehr?limit=1000')).items.length

  it('ends at 100 for an account, its own not counted, whoever comes first', async () => {
    const flooder = await newPerson()
    const statuses: number[] = []
    for (let i = 0; i < 2; i++) statuses.push(...(await bothWays(flooder, 52)))
    assert.equal(statuses.filter((status) => status === 201).length, MOST)
    assert.equal(await heldBy(flooder), MOST + 1)
    const one = { subjectId: 'one more' }
    assert.deepEqual(refused(await flooder.call('POST', '/ehr', one), 422, 'rule-violated'), ['full'])
    const { body } = await classesOf(flooder).post('Ehr', one).expect(400)
    assert.equal(body.code, 142)

    const { items } = ok(await flooder.call('GET', '/ehr?limit=3'))
    ok(await flooder.call('DELETE', `/med/ehr/${items[1].id}`), 204)
    await classesOf(flooder).delete('Ehr', items[2].id).expect(200)
    assert.deepEqual((await bothWays(flooder, 4)).filter((status) => status === 201).length, 2)
    assert.equal(await heldBy(flooder), MOST + 1)
  })

  if (isFullSize)
    it('is not what administrators do, who make them for others', async () => {
      const admin = await newAdmin()
      for (let i = 0; i < MOST + 1; i += 51)
        for (const status of await bothWays(admin, 51)) assert.equal(status, 201)
    })
})
