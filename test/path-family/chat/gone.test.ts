import assert from 'node:assert/strict'
import type { ChatSubjectType } from '../../../schemas/chat/chat.ts'
import {
  addParticipant,
  createAlert,
  createGoal,
  createPatient,
  createPlan,
  createTask,
  type Patient,
} from '../../harness/care/patients.ts'
import { assertError, createClassClient } from '../../harness/clients/class-client.ts'
import { assertProblem, assertStatus } from '../../harness/clients/path-client.ts'
import { createPerson, type Person } from '../../harness/people/people.ts'

/** A chat subject: its paths for both users, and how it disappears. */
interface Gone {
  about: ChatSubjectType
  ids: [patient: string, nurse: string]
  go(): Promise<unknown>
  comeBack?(): Promise<unknown>
}

describe('messages about', () => {
  let patient: Patient
  let nurse: Person
  before(async () => {
    ;[patient, nurse] = await Promise.all([createPatient(), createPerson()])
  })

  async function planWithBoth(owner = patient): Promise<string> {
    const carePlanId = await createPlan(owner)
    await addParticipant(carePlanId, nurse, 'write')
    return carePlanId
  }
  const byClass = (className: string, id: string, owner = patient) =>
    createClassClient(owner).delete(className, id).expect(200)
  const twice = (id: string): [string, string] => [id, id]

  async function goal(): Promise<[carePlanId: string, goalId: string]> {
    const carePlanId = await planWithBoth()
    return [carePlanId, await createGoal(patient, carePlanId)]
  }
  async function event(): Promise<[id: string, path: string]> {
    const visit = { type: 'visit', title: 'x', start: '2026-03-01T09:00:00Z' }
    const path = `/med/${patient.ehrId}/event`
    const body = { ...visit, carePlanId: await planWithBoth() }
    const { id } = assertStatus(await patient.call('POST', path, body), 201)
    return [id, `${path}/${id}`]
  }
  async function ehr(): Promise<Patient> {
    const owner = await createPatient()
    await planWithBoth(owner)
    return owner
  }

  const cases: Record<string, () => Promise<Gone>> = {
    'a care plan that is deleted': async () => {
      const id = await planWithBoth()
      return { about: 'careplan', ids: twice(id), go: () => byClass('CarePlan', id) }
    },
    'a goal that is deleted': async () => {
      const [, id] = await goal()
      return { about: 'goal', ids: twice(id), go: () => byClass('Goal', id) }
    },
    'a task that is deleted': async () => {
      const id = await createTask(patient, ...(await goal()))
      return { about: 'task', ids: twice(id), go: () => byClass('Task', id) }
    },
    'a task whose goal is deleted': async () => {
      const [carePlanId, goalId] = await goal()
      const id = await createTask(patient, carePlanId, goalId)
      return { about: 'task', ids: twice(id), go: () => byClass('Goal', goalId) }
    },
    'an event that the class family deletes': async () => {
      const [id] = await event()
      return { about: 'event', ids: twice(id), go: () => byClass('Event', id) }
    },
    'an event that the path family deletes': async () => {
      const [id, path] = await event()
      return {
        about: 'event',
        ids: twice(id),
        go: async () => assertStatus(await patient.call('DELETE', path), 204),
      }
    },
    'an alert whose measurement the class family deletes': async () => {
      const id = await createAlert(patient, await planWithBoth())
      return { about: 'event', ids: twice(id), go: () => byClass('BloodPressure', id) }
    },
    'an alert whose measurement the path family deletes': async () => {
      const id = await createAlert(patient, await planWithBoth())
      const path = `procedure/bloodpressure/${id}`
      const go = async () => assertStatus(await patient.call('DELETE', path), 204)
      const comeBack = async () => assertStatus(await patient.call('POST', `${path}/restore`, { version: 1 }))
      return { about: 'event', ids: twice(id), go, comeBack }
    },
    'an EHR that the class family deletes': async () => {
      const owner = await ehr()
      return { about: 'ehr', ids: twice(owner.ehrId), go: () => byClass('Ehr', owner.ehrId, owner) }
    },
    'an EHR that the path family deletes': async () => {
      const owner = await ehr()
      const go = async () => assertStatus(await owner.call('DELETE', `/med/ehr/${owner.ehrId}`), 204)
      return { about: 'ehr', ids: twice(owner.ehrId), go }
    },
    'each other by two who are not connected any more': async () => {
      const network = `/profile/${patient.mvUid}/network`
      const connect = async () => {
        await patient.call('POST', network, { mvUid: nurse.mvUid })
        await nurse.call('POST', `/profile/${nurse.mvUid}/network`, { mvUid: patient.mvUid })
      }
      await connect()
      const go = async () => assertStatus(await patient.call('DELETE', `${network}/${nurse.mvUid}`), 204)
      return { about: 'network', ids: [nurse.mvUid, patient.mvUid], go, comeBack: connect }
    },
  }

  for (const [name, make] of Object.entries(cases))
    it(`${name} are gone in both families`, async () => {
      const { about, ids, go, comeBack } = await make()
      const places = ids.map((id) => `/chat/${about}/${id}`) as [string, string]
      const readers: [Person, string][] =
        about === 'ehr'
          ? [[nurse, places[1]]]
          : [
              [nurse, places[1]],
              [patient, places[0]],
            ]
      const starts = about === 'ehr' ? nurse : patient
      const newTopic = { title: 'The new tablets', text: 'Do they go with the old ones?' }
      const { id } = assertStatus(await starts.call('POST', places[0], newTopic), 201)
      const messageId = assertStatus(await nurse.call('POST', `${places[1]}/${id}`, { text: 'Yes' }), 201).id

      async function assertVisible() {
        for (const [who, place] of readers) {
          assert.equal(assertStatus(await who.call('GET', `${place}/${id}`)).items.length, 2)
          assert.equal(
            (await createClassClient(who).get('ChatTopic', id).expect(200)).body.title,
            newTopic.title,
          )
          const { results } = (await createClassClient(who).list('ChatMessage', { topicId: id }).expect(200))
            .body
          assert.equal(results.length, 2)
        }
      }
      await assertVisible()
      await go()
      for (const [who, place] of readers) {
        assertProblem(await who.call('GET', place), 404, 'not-found')
        assertProblem(await who.call('GET', `${place}/${id}`), 404, 'not-found')
        assertProblem(await who.call('POST', `${place}/${id}`, { text: 'x' }), 404, 'not-found')
        assertProblem(await who.call('POST', place, newTopic), 404, 'not-found')
        assertError(await createClassClient(who).get('ChatTopic', id), 101)
        assertError(await createClassClient(who).get('ChatMessage', messageId), 101)
        for (const [className, where] of [
          ['ChatTopic', { objectId: id }],
          ['ChatMessage', { topicId: id }],
        ] as const)
          assert.deepEqual((await createClassClient(who).list(className, where).expect(200)).body.results, [])
      }
      await comeBack?.()
      if (comeBack) await assertVisible()
    })
})
