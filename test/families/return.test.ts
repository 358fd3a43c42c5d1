import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import type { Document } from 'mongodb'
import { pathParameterNames } from '../../path-api/operation/operation.ts'
import { operationTable } from '../../path-api/operation-table.ts'
import { toRestEhrId } from '../../path-api/resources/openehr-rest/shared/ehr-ids.ts'
import { kinds as allKinds, CLASS_NAMES, type ClassName, classKindOf } from '../../records/kinds.ts'
import { folder } from '../conformance/openehr-rest/fixture.ts'
import { byClass, type Json, newPlace } from '../family-kinds.ts'
import {
  createPatient,
  createPlan,
  createTask,
  createWeight,
  type Patient,
} from '../harness/care/patients.ts'
import { exampleObject, fillPath, parentIdsOf, withOtherKey } from '../harness/care/samples/examples.ts'
import { SAMPLED_KINDS } from '../harness/care/samples/kinds-of-each-shape.ts'
import { assertError, parseDate } from '../harness/clients/class-client.ts'
import { assertProblem, assertStatus } from '../harness/clients/path-client.ts'
import { createPressureComposition, getStoredTemplate } from '../harness/openehr-samples.ts'
import { createAdmin, createPerson } from '../harness/people/people.ts'
import { recordCommands } from '../harness/service/database-commands.ts'
import { service } from '../harness/service/service.ts'

/** A document without the permissions that hide it. */
const contentOf = ({ _rperm: _, _wperm: __, _acl: ___, ...content }: Document): Document => content

/** All documents of an EHR, by collection and id. */
async function documentsOf(ehrId: string): Promise<Map<string, Document>> {
  const counts = allKinds.map(async ({ collection, ehr }) => {
    const documents = service.db
      .collection(collection)
      .find(ehr === 'id' ? { _id: ehrId as never } : { ehrId })
    return (await documents.toArray()).map((one) => [`${collection} ${one._id}`, contentOf(one)] as const)
  })
  return new Map((await Promise.all(counts)).flat())
}

/** The entries of the history for each document of an EHR. */
async function formerVersionsOf(ehrId: string): Promise<Map<string, Document[]>> {
  const changes = service.db.collection<Document & { _id: string }>('history.changes')
  const histories = await changes
    .find({ _id: { $gte: `${ehrId}/`, $lt: `${ehrId}0` }, before: { $ne: null } })
    .toArray()
  const versions = new Map<string, Document[]>()
  for (const { _id, before } of histories) {
    const key = `${_id.split('/')[1]} ${before._id}`
    versions.set(key, [...(versions.get(key) ?? []), contentOf(before)])
  }
  return versions
}

/** Runs a deletion, and asserts that each document is still there, or a former version of its record. */
async function assertNothingLost(ehrId: string, remove: () => PromiseLike<unknown>): Promise<void> {
  const before = await documentsOf(ehrId)
  await remove()
  const after = await documentsOf(ehrId)
  const former = await formerVersionsOf(ehrId)
  const isKept = ([key, document]: [string, Document]) =>
    [after.get(key), ...(former.get(key) ?? [])].some((one) => isDeepStrictEqual(one, document))
  assert.ok(before.size > 2)
  assert.deepEqual(
    [...before].filter((one) => !isKept(one)).map(([key]) => key),
    [],
  )
}

/** The EHR has a restoration of its own, and people can take back messages: docs/decisions/chat.md. */
const DELETABLE = CLASS_NAMES.filter((name) => !classKindOf(name).readOnly && name !== 'Ehr')

const operationOf = (name: ClassName, what: 'delete' | 'history' | 'restore') => {
  const ids = { delete: `delete${name}`, history: `list${name}Changes`, restore: `restore${name}` }
  return operationTable.find(({ id }) => id === ids[what])
}

const ofEhrs = operationTable.filter(({ path }) => path.includes('{ehrId}') || path.startsWith('/chat'))

/** A record with its EHR, a participant who reads its plan, and the parts that a plan, goal, task or event has. */
interface Prepared {
  patient: Patient
  nurse: Awaited<ReturnType<typeof createPerson>>
  id: string
  object: Json
  pathTo(what: 'delete' | 'history' | 'restore'): string
  /** Other objects, which a deletion may hide. */
  others: [ClassName, string][]
}

async function prepare(name: ClassName): Promise<Prepared> {
  const [{ patient, place }, nurse] = await Promise.all([newPlace(), createPerson()])
  const participant = { mvUid: nurse.mvUid, access: 'READ', role: 'NURSE' }
  assertStatus(await patient.call('POST', `careplan/${place.carePlanId}/participant`, participant), 201)
  const taskId = await createTask(patient, place.carePlanId, place.goalId)
  const idsByClass: Partial<Record<ClassName, string>> = {
    CarePlan: place.carePlanId,
    Goal: place.goalId,
    Task: taskId,
  }
  const object = withOtherKey(name, { ...parentIdsOf(name, place), ...exampleObject(name) })
  const id = idsByClass[name] ?? (await byClass(patient).post(name, object).expect(201)).body.objectId
  const weight = await createWeight(patient, place.carePlanId)
  const topic = { title: 'Question', text: 'How are you?' }
  const pathName = { CarePlan: 'careplan', Goal: 'goal', Task: 'task', Event: 'event' }[name as string]
  if (pathName) assertStatus(await patient.call('POST', `/chat/${pathName}/${id}`, topic), 201)
  return {
    patient,
    nurse,
    id,
    object: (await byClass(patient).get(name, id).expect(200)).body,
    pathTo(what) {
      const operation = operationOf(name, what)
      assert.ok(operation, `${what} of ${name}`)
      const ownId = pathParameterNames(operation.path).at(-1) ?? ''
      return fillPath(operation.path, { ...place, taskId, [ownId]: object[ownId] ?? id })
    },
    others: [
      ['Task', taskId],
      ['BodyWeight', weight],
    ],
  }
}

const withoutVersion = ({ version: _, updatedAt: __, ...object }: Json) => object

describe('a deletion', () => {
  it('is tried at every operation that deletes something in an EHR, and for every kind', () => {
    const ofKinds = DELETABLE.flatMap((name) => operationOf(name, 'delete')?.id ?? [])
    const otherDeletions = ofEhrs.filter(({ id, method }) => method === 'delete' && !ofKinds.includes(id))
    assert.deepEqual(otherDeletions.map(({ id }) => id).sort(), [
      'archiveMedicalParticipant',
      'archiveParticipant',
      'deleteComposition',
      'deleteDirectory',
      'deleteEhr',
      'deleteMedicalCarePlan',
      'deleteMessage',
      'deleteRestComposition',
    ])
    assert.equal(DELETABLE.length + 3, CLASS_NAMES.length)
  })

  for (const name of DELETABLE.filter((one) => SAMPLED_KINDS.includes(one)))
    for (const family of ['the class family', 'the path family']) {
      if (family === 'the path family' && !operationOf(name, 'delete')) continue

      it(`loses nothing of the ${name} by ${family}; its readers see it, and it returns as it was`, async () => {
        const { patient, nurse, id, object, pathTo, others } = await prepare(name)
        await assertNothingLost(patient.ehrId, async () =>
          family === 'the class family'
            ? byClass(patient).delete(name, id).expect(200)
            : assertStatus(await patient.call('DELETE', pathTo('delete')), 204),
        )
        assertError(await byClass(patient).get(name, id), 101)

        for (const reader of name === 'CarePlan' ? [patient] : [patient, nurse]) {
          const { items } = assertStatus(await reader.call('GET', pathTo('history')))
          assert.deepEqual([items[0].action, items[0].version], ['delete', 2])
        }
        const stranger = await createPerson()
        assertProblem(await stranger.call('GET', pathTo('history')), 404, 'not-found')
        const restore = (who: Pick<Patient, 'call'>) => who.call('POST', pathTo('restore'), { version: 1 })
        assertProblem(await restore(stranger), 404, 'not-found')
        const refusal = await restore(nurse)
        assert.equal(refusal.status, name === 'CarePlan' ? 404 : 403)
        const restored = await restore(patient)
        assertStatus(restored)
        assert.match(restored.etag, /^"3/)
        const { body } = await byClass(patient).get(name, id).expect(200)
        assert.deepEqual([body.version, withoutVersion(body)], [3, withoutVersion(object)])
        for (const who of [patient, nurse])
          for (const [className, other] of others) await byClass(who).get(className, other).expect(200)
      })
    }

  for (const name of DELETABLE) {
    const { properties } = classKindOf(name).schema
    const days = Object.keys(properties).filter(
      (field) => properties[field]?.format === 'date' && field !== 'resolved',
    )
    if (days.length === 0) continue

    it(`keeps the times of day of a former ${name}, as a change does`, async () => {
      const { patient, id, pathTo } = await prepare(name)
      const dates = (iso: string) => Object.fromEntries(days.map((field) => [field, parseDate(iso)]))
      const put = async (iso: string) =>
        (await byClass(patient).put(name, id, dates(iso)).expect(200)).body.version
      const version = await put('2026-03-01T23:30:00.000Z')
      const changes = {
        'the time': () => put('2026-03-01T10:00:00.000Z'),
        'the day': () => put('2026-05-01T10:00:00.000Z'),
        'a deletion': () => byClass(patient).delete(name, id).expect(200),
      }
      for (const [what, change] of Object.entries(changes)) {
        await change()
        assertStatus(await patient.call('POST', pathTo('restore'), { version }))
        const { body } = await byClass(patient).get(name, id).expect(200)
        assert.deepEqual({ ...body, ...dates('2026-03-01T23:30:00.000Z') }, body, what)
      }
    })
  }

  it('is returned only if If-Match names it', async () => {
    const { patient, id, pathTo } = await prepare('Goal')
    await byClass(patient).delete('Goal', id).expect(200)
    const restore = (ifMatch: string) =>
      patient.call('POST', pathTo('restore'), { version: 1 }, { 'if-match': ifMatch })
    for (const other of ['"1"', '"3"', '"77"'])
      assertProblem(await restore(other), 412, 'precondition-failed')
    assertStatus(await restore('"2"'))
  })

  it('loses nothing of a composition, directory, message, participation and EHR', async () => {
    const { patient, place } = await newPlace()
    const { ehrId, carePlanId } = place
    const template = await getStoredTemplate()
    const store = async () => {
      const composition = createPressureComposition(template, 120)
      const stored = await patient.call('POST', `/med/ehr/${ehrId}/composition/json`, composition)
      return assertStatus(stored, 201).compositionId
    }
    const rest = `/openehr/v1/ehr/${toRestEhrId(ehrId)}`
    const versionOf = async (id: string) =>
      (await patient.call('GET', `${rest}/composition/${id}`)).etag.slice(1, -1)
    const { etag } = await patient.call('POST', `${rest}/directory`, folder())
    const chat = `/chat/careplan/${carePlanId}`
    const topic = assertStatus(await patient.call('POST', chat, { title: 'x', text: 'y' }), 201).id
    const message = assertStatus(await patient.call('POST', `${chat}/${topic}`, { text: 'z' }), 201).id
    const invite = async () => {
      const { mvUid } = await createPerson()
      const participant = { mvUid, access: 'READ', role: 'NURSE' }
      const added = await patient.call('POST', `careplan/${carePlanId}/participant`, participant)
      return assertStatus(added, 201).participationId
    }
    const deletions = [
      `/med/ehr/${ehrId}/composition/${await store()}`,
      `${rest}/composition/${await versionOf(await store())}`,
      `${chat}/${topic}/message/${message}`,
      `/ehr/${ehrId}/careplan/${carePlanId}/participant/${await invite()}`,
      `/med/${ehrId}/careplan/${carePlanId}/participant/${await invite()}`,
      `/med/${ehrId}/careplan/${carePlanId}`,
    ]
    for (const path of deletions)
      await assertNothingLost(ehrId, async () => assertStatus(await patient.call('DELETE', path), 204))
    await assertNothingLost(ehrId, async () =>
      assertStatus(await patient.call('DELETE', `${rest}/directory`, undefined, { 'if-match': etag }), 204),
    )

    const other = await createPatient()
    await createWeight(other, await createPlan(other))
    for (const [owner, remove] of [
      [patient, () => byClass(patient).delete('Ehr', ehrId).expect(200)],
      [other, () => other.call('DELETE', `/med/ehr/${other.ehrId}`)],
    ] as const) {
      await assertNothingLost(owner.ehrId, remove)
      const admin = await createAdmin()
      assertStatus(await admin.call('POST', `/med/ehr/${owner.ehrId}/restore`))
      assertStatus(await owner.call('GET', 'careplan'))
    }
  })

  it('is refused to the participants of a care plan, in both families', async () => {
    const { patient, place } = await newPlace()
    for (const access of ['READ', 'WRITE', 'MANAGE']) {
      const participant = await createPerson()
      const path = `/ehr/${place.ehrId}/careplan/${place.carePlanId}`
      const body = { mvUid: participant.mvUid, access, role: 'NURSE' }
      assertStatus(await patient.call('POST', `${path}/participant`, body), 201)
      assertProblem(await participant.call('DELETE', path), 403, 'forbidden')
      assertError(await byClass(participant).delete('CarePlan', place.carePlanId), 119)
      assertStatus(await participant.call('GET', path))
    }
  })

  it('ends the access of the participants of a care plan until it returns', async () => {
    const { patient, place } = await newPlace()
    const nurse = await createPerson()
    const path = `/ehr/${place.ehrId}/careplan/${place.carePlanId}`
    const body = { mvUid: nurse.mvUid, access: 'WRITE', role: 'NURSE' }
    assertStatus(await patient.call('POST', `${path}/participant`, body), 201)
    const weight = await createWeight(patient, place.carePlanId)
    const goalRestoration = `${path}/goal/${place.goalId}/restore`
    await byClass(patient).delete('Goal', place.goalId).expect(200)
    assertStatus(await patient.call('DELETE', path), 204)
    for (const one of [path, `/ehr/${place.ehrId}/procedure/bodyweight/${weight}`, `${path}/history`])
      assertProblem(await nurse.call('GET', one), 404, 'not-found')
    assertProblem(await nurse.call('POST', goalRestoration, { version: 1 }), 404, 'not-found')
    assertProblem(await patient.call('POST', goalRestoration, { version: 1 }), 409, 'conflict')
    const weightRestoration = `/ehr/${place.ehrId}/procedure/bodyweight/${weight}/restore`
    for (const one of [nurse, await createPerson()])
      assertProblem(await one.call('POST', weightRestoration, { version: 1 }), 404, 'not-found')
    const hidden = await patient.call('POST', weightRestoration, { version: 1 })
    assertProblem(hidden, 409, 'conflict')
    assert.match(hidden.body.detail, new RegExp(`care plan ${place.carePlanId}.*Restore the care plan first`))
    const restore = async () => assertStatus(await patient.call('POST', `${path}/restore`, { version: 1 }))
    const commands = await recordCommands(restore, /./)
    // The commands of its transactions. In those, MongoDB refuses these on sharded collections.
    assert.ok(commands.length > 3)
    assert.deepEqual(
      commands.filter(({ commandName }) => ['count', 'distinct'].includes(commandName)),
      [],
    )
    assertStatus(await nurse.call('GET', `/ehr/${place.ehrId}/procedure/bodyweight/${weight}`))
    assert.deepEqual(assertStatus(await nurse.call('GET', path)).goals, [], 'the goal was deleted before')
    assertStatus(await nurse.call('POST', goalRestoration, { version: 1 }))
    assert.equal(assertStatus(await nurse.call('GET', path)).goals.length, 1)

    assertStatus(await patient.call('DELETE', path), 204)
    assertStatus(await patient.call('DELETE', `/med/ehr/${place.ehrId}`), 204)
    assertProblem(await patient.call('GET', `${path}/history`), 404, 'not-found')
    const admin = await createAdmin()
    assertStatus(await admin.call('POST', `/med/ehr/${place.ehrId}/restore`))
    assertProblem(await nurse.call('GET', path), 404, 'not-found')
    assertProblem(await patient.call('GET', path), 404, 'not-found')
    assertStatus(await patient.call('POST', `${path}/restore`, { version: 3 }))
    assertStatus(await nurse.call('GET', path))
  })
})
