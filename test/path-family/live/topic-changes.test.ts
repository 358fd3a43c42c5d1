import assert from 'node:assert/strict'
import { setPlanRole } from '../../../records/ehrs/rights/roles.ts'
import { addParticipant, createPatient, createPlan, type Patient } from '../../harness/care/patients.ts'
import { openEventSource } from '../../harness/clients/event-source.ts'
import { assertProblem, assertStatus } from '../../harness/clients/path-client.ts'
import { createPerson, type Person } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'

describe('the changes of a chat topic', () => {
  let patient: Patient
  let nurse: Person
  let planId: string
  let topic: string
  let other: string
  before(async () => {
    ;[patient, nurse] = await Promise.all([createPatient(), createPerson()])
    assertStatus(await patient.call('PUT', `/profile/${patient.mvUid}`, { name: { displayName: 'Ann' } }))
    planId = await createPlan(patient)
    await addParticipant(planId, nurse, 'read')
    const start = async () => {
      const newTopic = { title: 'Tablets', text: 'Which ones?' }
      return `/chat/careplan/${planId}/${assertStatus(await patient.call('POST', `/chat/careplan/${planId}`, newTopic), 201).id}`
    }
    topic = await start()
    other = await start()
  })

  it('are its messages when written, changed and deleted, until it is closed', async () => {
    const source = await openEventSource(nurse, `${topic}/changes`)
    const heard = async () => {
      const { type, operation, message } = (await source.next()).data
      return [type, operation, message?.author.name, message?.text, message?.deleted]
    }
    assertStatus(await patient.call('POST', other, { text: 'elsewhere' }), 201)
    const { id } = assertStatus(await patient.call('POST', topic, { text: 'The blue ones' }), 201)
    assert.deepEqual(await heard(), ['ChatMessage', 'create', 'Ann', 'The blue ones', false])
    assertStatus(await patient.call('PUT', `${topic}/message/${id}`, { text: 'The red ones' }))
    assert.deepEqual(await heard(), ['ChatMessage', 'update', 'Ann', 'The red ones', false])
    assertStatus(await patient.call('DELETE', `${topic}/message/${id}`), 204)
    assert.deepEqual(await heard(), ['ChatMessage', 'update', 'Ann', null, true])
    assertStatus(await patient.call('POST', `${topic}/close`))
    assert.deepEqual(await heard(), ['ChatTopic', 'update', undefined, undefined, undefined])
    source.close()
  })

  it('are sent to users who may see the topic, while they may', async () => {
    const stranger = await createPerson()
    assertProblem(await stranger.call('GET', `${topic}/changes`), 404, 'not-found')
    assertProblem(await patient.call('GET', `${topic.slice(0, -10)}ABCDEFGHIJ/changes`), 404, 'not-found')
    const source = await openEventSource(nurse, `${other}/changes`)
    const { client, db } = service
    const role = { ehrId: patient.ehrId, carePlanId: planId, right: 'read' } as const
    await client.withSession((session) =>
      session.withTransaction(() => setPlanRole({ client, db }, session, nurse.mvUid, role, false)),
    )
    assertStatus(await patient.call('POST', other, { text: 'not for the nurse' }), 201)
    await source.ended()
  })
})
