import assert from 'node:assert/strict'
import { newId } from '../../records/store/documents/ids.ts'
import { createPlanInOwnEhr } from '../harness/care/by-class-family.ts'
import { createClassClient } from '../harness/clients/class-client.ts'
import { createPerson, type Person } from '../harness/people/people.ts'
import { request, service } from '../harness/service/service.ts'

/** Regular expressions that would keep a backtracking engine busy for hours, and all users waiting. */
describe('attack: regular expressions over many long texts', function suite() {
  this.timeout(60_000)
  let person: Person

  before(async () => {
    person = await createPerson()
    const { ehrId, carePlanId } = await createPlanInOwnEhr(person)
    const custom = { ehrId, carePlanId, modelClassName: 'Text', payload: { text: 'a'.repeat(9_000) } }
    const { body } = await createClassClient(person).post('Custom', custom).expect(201)
    const customs = service.db.collection<{ _id: string }>('Custom')
    const stored = await customs.findOne({ _id: body.objectId })
    await customs.insertMany(Array.from({ length: 299 }, () => ({ ...stored, _id: newId() })))
  })

  for (const pattern of ['a{0,200}a{0,200}b', '(a+)+b', '(a|aa)*b', '(a*)*(a*)*b', '.*.*.*.*b'])
    it(`answers or ends ${pattern} in time, and delays nobody`, async () => {
      const where = JSON.stringify({ 'payload.text': { $regex: pattern } })
      const begun = performance.now()
      const query = request().get('/1/classes/Custom').set(person.headers).query({ where, limit: 1 })
      const [answer, others] = await Promise.all([
        query,
        Promise.all(
          Array.from({ length: 5 }, async () => {
            const from = performance.now()
            await request().get('/1/users/me').set(person.headers).expect(200)
            return performance.now() - from
          }),
        ),
      ])
      assert.ok(performance.now() - begun < 7_000)
      assert.ok(Math.max(...others) < 3_000, `${others}`)
      if (answer.status !== 200) assert.deepEqual([answer.status, answer.body.code], [408, 124])
      else assert.deepEqual(answer.body.results, [])
    })
})
