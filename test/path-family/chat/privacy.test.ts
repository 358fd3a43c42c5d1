import assert from 'node:assert/strict'
import {
  addParticipant,
  createPatient,
  createPlan,
  createWeight,
  type Patient,
} from '../../harness/care/patients.ts'
import { createClassClient } from '../../harness/clients/class-client.ts'
import { assertProblemPlaces, assertStatus } from '../../harness/clients/path-client.ts'
import { createPerson, type Person } from '../../harness/people/people.ts'

describe('what a chat tells', () => {
  let patient: Patient
  let nurse: Person
  let planId: string
  before(async () => {
    ;[patient, nurse] = await Promise.all([createPatient(), createPerson()])
    const profile = { name: { displayName: 'Anna de Vries' } }
    assertStatus(await patient.call('PUT', `/profile/${patient.mvUid}`, profile))
    planId = await createPlan(patient)
    await addParticipant(planId, nurse, 'write')
  })

  const first = { title: 'The new tablets', text: 'Do they go with the old ones?' }
  const start = (subject: string, content: object = first) =>
    patient.call('POST', `/chat/${subject}`, content)

  it('is never about a record of another EHR, even if the author may read both', async () => {
    const other = await createPatient()
    const otherPlan = await createPlan(other)
    await addParticipant(otherPlan, nurse, 'write')
    const attachment = { type: 'BodyWeight', id: await createWeight(other, otherPlan) }
    const path = `/chat/careplan/${planId}/${assertStatus(await start(`careplan/${planId}`), 201).id}`
    const message = { text: 'See', attachments: [attachment] }
    assert.deepEqual(assertProblemPlaces(await nurse.call('POST', path, message), 422, 'rule-violated'), [
      'body.attachments.0',
    ])
  })

  it('has neither the text nor the attachments of a deleted message, in both families', async () => {
    const attachment = { type: 'BodyWeight', id: await createWeight(patient, planId) }
    const topic = await start(`careplan/${planId}`, { ...first, attachments: [attachment] })
    const path = `/chat/careplan/${planId}/${assertStatus(topic, 201).id}`
    const [{ id, attachments }] = assertStatus(await nurse.call('GET', path)).items
    assert.equal(attachments[0].id, attachment.id)
    assertStatus(await patient.call('DELETE', `${path}/message/${id}`), 204)
    const [stone] = assertStatus(await nurse.call('GET', path)).items
    assert.deepEqual([stone.deleted, stone.text, stone.attachments], [true, null, []])
    const { body } = await createClassClient(nurse).get('ChatMessage', id).expect(200)
    assert.deepEqual([body.deleted, body.text, body.attachments], [true, '', []])
  })

  it('has no invisible title', async () => {
    const answer = await start(`careplan/${planId}`, { ...first, title: '\u200b' })
    assert.deepEqual(assertProblemPlaces(answer, 422, 'rule-violated'), ['body.title'])
  })

  it('has no names for those who only take part in anonymous care plans, in a topic about an EHR', async () => {
    const reader = await createPerson()
    await addParticipant(await createPlan(patient, { anonymous: true }), reader, 'read')
    const subject = `ehr/${patient.ehrId}`
    const { id } = assertStatus(await start(subject), 201)
    const namesFor = async (who: Person) => {
      const { createdBy, items } = assertStatus(await who.call('GET', `/chat/${subject}/${id}`))
      return [createdBy.name, ...items.map(({ author }: { author: { name: unknown } }) => author.name)]
    }
    assert.deepEqual(await namesFor(reader), [null, null])
    assert.deepEqual(await namesFor(nurse), ['Anna de Vries', 'Anna de Vries'])
  })
})
