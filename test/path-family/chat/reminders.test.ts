import assert from 'node:assert/strict'
import { ReadMarks } from '../../../records/chat/read-marks.ts'
import { Reminders } from '../../../records/chat/reminders.ts'
import type { StoreContext } from '../../../records/store/writing/transaction.ts'
import { HOUR_MS } from '../../../schemas/time/durations.ts'
import { addParticipant, createPatient, createPlan, type Patient } from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { createPerson, type Person } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'

describe('the mails about unread messages', () => {
  let patient: Patient
  let nurse: Person
  let reader: Person
  let topicsPath: string
  before(async () => {
    ;[patient, nurse, reader] = await Promise.all([createPatient(), createPerson(), createPerson()])
  })
  beforeEach(async () => {
    const planId = await createPlan(patient)
    await addParticipant(planId, nurse, 'write')
    await addParticipant(planId, reader, 'read')
    topicsPath = `/chat/careplan/${planId}`
    // The topics of other tests would be due at the times of this one.
    await service.db.collection('ChatTopic').updateMany({}, { $unset: { remindAt: '' } })
  })

  const startTopic = async (): Promise<string> => {
    const first = { title: 'The new tablets', text: 'Do they go with the old ones?' }
    return `${topicsPath}/${assertStatus(await nurse.call('POST', topicsPath, first), 201).id}`
  }
  /** A message of the nurse, as if written some hours from now. */
  async function writeIn(hours: number, topic: string): Promise<void> {
    const { id } = assertStatus(await nurse.call('POST', topic, { text: 'More' }), 201)
    await service.db
      .collection<{ _id: string }>('ChatMessage')
      .updateOne({ _id: id }, { $set: { _created_at: new Date(Date.now() + hours * HOUR_MS) } })
  }
  const markRead = async (topic: string) => assertStatus(await reader.call('POST', `${topic}/read`, {}), 204)
  /** Sends the mails that are due some hours from now. @returns who gets one */
  async function mailIn(hours: number): Promise<Person[]> {
    const mailed: unknown[] = []
    const context = { ...service } as unknown as StoreContext
    const reminders = new Reminders({ context, marks: new ReadMarks(service) }, async ({ to }) => {
      mailed.push((to as { mvUid: string }).mvUid)
    })
    await reminders.send(new Date(Date.now() + hours * HOUR_MS))
    return [patient, nurse, reader].filter(({ mvUid }) => mailed.includes(mvUid))
  }

  it('come for each message an hour after it, a day after the last mail, and once', async () => {
    const topic = await startTopic()
    await writeIn(0.5, topic)
    await markRead(topic)
    assert.deepEqual(await mailIn(1.1), [patient])
    await writeIn(1.2, topic)
    assert.deepEqual(await mailIn(1.6), [])
    assert.deepEqual(await mailIn(2.3), [reader])
    await writeIn(2.5, topic)
    assert.deepEqual(await mailIn(3.6), [])
    assert.deepEqual(await mailIn(25), [])
    assert.deepEqual(await mailIn(25.2), [patient])
    assert.deepEqual(await mailIn(26.4), [reader])
    assert.deepEqual(await mailIn(80), [])
  })

  it('do not come for a message that its author has deleted', async () => {
    const topic = await startTopic()
    const [message] = assertStatus(await nurse.call('GET', topic)).items
    assertStatus(await nurse.call('DELETE', `${topic}/message/${message.id}`), 204)
    assert.deepEqual(await mailIn(1.1), [])
  })
})
