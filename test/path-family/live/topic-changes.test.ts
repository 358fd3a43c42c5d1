import assert from 'node:assert/strict'
import { setPlanRole } from '../../../records/ehrs/rights/roles.ts'
import { letIn, newPatient, newPlan, type Patient } from '../../harness/care/patients.ts'
import { eventSource } from '../../harness/clients/event-source.ts'
import { ok, refused } from '../../harness/clients/path-client.ts'
import { newPerson, type Person } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'

describe('the changes of a chat topic', () => {
  let patient: Patient
  let nurse: Person
  let planId: string
  let topic: string
  let other: string
  before(async () => {
    ;[patient, nurse] = await Promise.all([newPatient(), newPerson()])
    ok(await patient.call('PUT', `/profile/${patient.mvUid}`, { name: { displayName: 'Ann' } }))
    planId = await newPlan(patient)
    await letIn(planId, nurse, 'read')
    const start = async () => {
      const first = { title: 'Tablets', text: 'Which ones?' }
      return `/chat/careplan/${planId}/${ok(await patient.call('POST', `/chat/careplan/${planId}`, first), 201).id}`
    }
    topic = await start()
    other = await start()
  })

  it('are its messages as they are written, changed and deleted, until it is closed', async () => {
    const source = await eventSource(nurse, `${topic}/changes`)
    const heard = async () => {
      const { type, operation, message } = (await source.next()).data
      return [type, operation, message?.author.name, message?.text, message?.deleted]
    }
    ok(await patient.call('POST', other, { text: 'elsewhere' }), 201)
    const { id } = ok(await patient.call('POST', topic, { text: 'The blue ones' }), 201)
    assert.deepEqual(await heard(), ['ChatMessage', 'create', 'Ann', 'The blue ones', false])
    ok(await patient.call('PUT', `${topic}/message/${id}`, { text: 'The red ones' }))
    assert.deepEqual(await heard(), ['ChatMessage', 'update', 'Ann', 'The red ones', false])
    ok(await patient.call('DELETE', `${topic}/message/${id}`), 204)
    assert.deepEqual(await heard(), ['ChatMessage', 'update', 'Ann', null, true])
    ok(await patient.call('POST', `${topic}/close`))
    assert.deepEqual(await heard(), ['ChatTopic', 'update', undefined, undefined, undefined])
    source.close()
  })

  it('are for who may see the topic, as long as they may', async () => {
    const stranger = await newPerson()
    refused(await stranger.call('GET', `${topic}/changes`), 404, 'not-found')
    refused(await patient.call('GET', `${topic.slice(0, -10)}ABCDEFGHIJ/changes`), 404, 'not-found')
    const source = await eventSource(nurse, `${other}/changes`)
    const { client, db } = service
    const role = { ehrId: patient.ehrId, carePlanId: planId, right: 'read' } as const
    await client.withSession((session) =>
      session.withTransaction(() => setPlanRole({ client, db }, session, nurse.mvUid, role, false)),
    )
    ok(await patient.call('POST', other, { text: 'not for the nurse' }), 201)
    await source.ended()
  })
})
