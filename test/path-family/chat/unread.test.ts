import assert from 'node:assert/strict'
import { addParticipant, createPatient, createPlan } from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { createPerson } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'

interface Stored {
  _id: string
  topicId?: string
}

const collectionOf = (name: string) => service.db.collection<Stored>(name)

/** Stores copies of a record under new ids. @returns the ids */
async function copyRecord(name: string, id: string, count: number): Promise<string[]> {
  const record = (await collectionOf(name).findOne({ _id: id })) as Stored
  const copies = Array.from({ length: count }, (_, i) => ({ ...record, _id: `${id.slice(0, 7)}${100 + i}` }))
  await collectionOf(name).insertMany(copies)
  return copies.map(({ _id }) => _id)
}

describe('the number of unread messages', () => {
  it('is at most 100 in a topic, and right in each of more than 100 topics', async () => {
    const patient = await createPatient()
    const nurse = await createPerson()
    const planId = await createPlan(patient)
    await addParticipant(planId, nurse, 'write')
    const path = `/chat/careplan/${planId}`
    const first = { title: 'The new tablets', text: 'Do they go with the old ones?' }
    const { id } = assertStatus(await patient.call('POST', path, first), 201)
    const topicIds = await copyRecord('ChatTopic', id, 120)
    const [message] = assertStatus(await nurse.call('GET', `${path}/${id}`)).items
    const messageIds = await copyRecord('ChatMessage', message.id, 120)
    const messages = collectionOf('ChatMessage')
    const moves = messageIds.map((_id, i) => ({
      updateOne: { filter: { _id }, update: { $set: { topicId: String(topicIds[i]) } } },
    }))
    await messages.bulkWrite(moves)
    const { items } = assertStatus(await nurse.call('GET', `${path}?limit=1000`))
    assert.deepEqual(
      items.map(({ unread }: { unread: number }) => unread),
      Array(121).fill(1),
    )
    await messages.updateMany({ _id: { $in: messageIds } }, { $set: { topicId: id } })
    assert.equal(assertStatus(await nurse.call('GET', `${path}/${id}`)).unread, 100)
  })
})
