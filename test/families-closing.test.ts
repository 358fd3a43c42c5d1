import assert from 'node:assert/strict'
import { classKindOf } from '../records/kinds.ts'
import {
  byClass,
  createByClass,
  createByPath,
  day,
  expectedOf,
  type Json,
  KIND_NAMES,
  kinds,
  newPlace,
  PARTS,
  type Place,
  pathOf,
  readByPath,
} from './family-kinds.ts'
import type { Patient } from './harness/care/patients.ts'
import { assertError } from './harness/clients/class-client.ts'
import { assertProblem, assertStatus } from './harness/clients/path-client.ts'

type Status = 'COMPLETED' | 'CANCELLED'

describe('a closing', () => {
  let patient: Patient
  let place: Place
  before(async () => {
    ;({ patient, place } = await newPlace())
  })

  for (const name of PARTS) {
    const recordPathOf = (id: unknown) => `${kinds[name].at(place)}/${id}`
    const close = (id: unknown, body: object) => patient.call('POST', `${recordPathOf(id)}/close`, body)
    const closeByClass = (id: unknown, fields: Json) => byClass(patient).put(name, String(id), fields)
    const changesOf = async (id: unknown) =>
      assertStatus(await patient.call('GET', `${recordPathOf(id)}/history`)).items.map(
        ({ version, action, changed, before }: Json) => [version, action, changed, (before as Json)?.status],
      )

    describe(`of a ${name}`, () => {
      it('is done by the path family, once', async () => {
        const { id } = await createByPath(patient, name, place)
        assertStatus(await close(id, { outcome: 'Done', achievementDate: '2026-05-01' }))
        const { body } = await byClass(patient).get(name, String(id)).expect(200)
        assert.deepEqual(
          [body.status, body.outcome, body.achievementDate, body.version],
          ['COMPLETED', 'Done', day('2026-05-01'), 2],
        )
        assertError(await closeByClass(id, { status: 'CANCELLED' }), 142, /closed/)
        assert.equal((await changesOf(id)).length, 2)
      })

      it('is done by the class family, once, together with other fields, in one version', async () => {
        const { objectId: id } = await createByClass(patient, name, place)
        const fields = {
          status: 'CANCELLED',
          outcome: 'Moved',
          achievementDate: day('2026-05-01'),
          dueDate: null,
          notes: { __op: 'Delete' },
        }
        const { body } = await closeByClass(id, fields).expect(200)
        const { createdAt: _, ...read } = (await byClass(patient).get(name, String(id)).expect(200)).body
        for (const [field, value] of Object.entries(read)) assert.deepEqual(body[field], value, field)
        assert.deepEqual([body.dueDate, body.notes], [undefined, undefined])
        const { resource } = await readByPath(patient, name, place, String(id))
        assert.deepEqual(
          [
            resource?.status,
            resource?.outcome,
            resource?.achievementDate,
            resource?.dueDate,
            resource?.notes,
          ],
          ['CANCELLED', 'Moved', '2026-05-01', null, null],
        )
        assert.equal(resource?.version, 2)
        assert.deepEqual((await changesOf(id))[0], [
          2,
          'update',
          ['achievementDate', 'dueDate', 'notes', 'outcome', 'status'],
          'ACTIVE',
        ])
        assertProblem(await close(id, {}), 422, 'rule-violated')
        assertError(await closeByClass(id, { status: 'COMPLETED' }), 142, /closed/)
        // The whole object may be sent back, and a closed record allows corrections.
        await closeByClass(id, { ...read, outcome: 'Moved away' }).expect(200)
        assert.equal((await readByPath(patient, name, place, String(id))).resource?.version, 3)
      })

      const one: Record<string, (id: unknown, status: Status) => PromiseLike<{ status: number }>> = {
        'the path family': (id, status) => close(id, { status, outcome: status }),
        'the class family': (id, status) => closeByClass(id, { status, outcome: status }),
      }
      for (const [first, second] of [
        ['the path family', 'the class family'],
        ['the class family', 'the class family'],
        ['the path family', 'the path family'],
      ])
        it(`succeeds for only one of ${first} and ${second} concurrently`, async () => {
          const { id } = await createByPath(patient, name, place)
          const answers = await Promise.all([
            one[first ?? '']?.(id, 'COMPLETED'),
            one[second ?? '']?.(id, 'CANCELLED'),
          ])
          const won = answers.map((answer) => answer?.status === 200)
          assert.equal(won.filter(Boolean).length, 1, JSON.stringify(answers.map((answer) => answer?.status)))
          const { resource } = await readByPath(patient, name, place, String(id))
          const status = won[0] ? 'COMPLETED' : 'CANCELLED'
          assert.deepEqual([resource?.status, resource?.outcome, resource?.version], [status, status, 2])
          assert.deepEqual(await changesOf(id), [
            [2, 'update', ['outcome', 'status'], 'ACTIVE'],
            [1, 'create', [], undefined],
          ])
        })

      it('is done in a batch, together with other updates', async () => {
        const ids = [await createByPath(patient, name, place), await createByPath(patient, name, place)].map(
          ({ id }) => id,
        )
        const answer = await byClass(patient).batch(
          ids.map((id, i) => ({
            method: 'PUT',
            path: `/1/classes/${name}/${id}`,
            body: i === 0 ? { status: 'COMPLETED', notes: 'x' } : { notes: 'x' },
          })),
        )
        assert.deepEqual(
          answer.body.map(({ success }: { success: Json }) => [
            success.objectId,
            success.status,
            success.notes,
          ]),
          [
            [ids[0], 'COMPLETED', 'x'],
            [ids[1], 'ACTIVE', 'x'],
          ],
        )
      })
    })
  }
})

/** The responses of both families for the records of a closed plan, goal or task (docs/decisions/care-plans.md). */
const AFTER_CLOSING = { create: 'closed', change: 'done', delete: 'done' } as const
const CLOSED_MESSAGE = /closed/

describe('after a closing, both families', () => {
  const outcomeOf = ({ status, body }: { status: number; body: Json }): string =>
    status < 300 ? 'done' : CLOSED_MESSAGE.test(JSON.stringify(body)) ? 'closed' : JSON.stringify(body)

  for (const container of ['CarePlan', 'Goal'] as const)
    for (const name of KIND_NAMES) {
      const { parentIds: ids } = classKindOf(name)
      if (!((container === 'Goal' ? 'goalId' : 'carePlanId') in ids)) continue
      it(`allow the same on ${name} in a closed ${container}`, async () => {
        const { patient, place } = await newPlace()
        const records: string[] = []
        for (let i = 0; i < 4; i++) records.push(String((await createByPath(patient, name, place)).id))
        const [changed = '', changedByClass = '', removed = '', removedByClass = ''] = records
        const path = `careplan/${place.carePlanId}${container === 'Goal' ? `/goal/${place.goalId}` : ''}`
        assertStatus(await patient.call('POST', `${path}/close`, {}))
        const { at, method, body, object, change, deletes } = kinds[name]
        const { post, put, delete: remove } = byClass(patient)
        const planReference = 'carePlanId' in classKindOf(name).body.properties && {
          carePlanId: place.carePlanId,
        }
        const answers = {
          create: [
            await patient.call(method, at(place, body), { ...body, ...planReference }),
            await post(name, object(place)),
          ],
          change: change
            ? [
                await patient.call('PUT', pathOf(name, place, changed), expectedOf(name, changed)),
                await put(name, changedByClass, change),
              ]
            : [],
          delete: [
            ...(deletes ? [await patient.call('DELETE', pathOf(name, place, removed))] : []),
            await remove(name, removedByClass),
          ],
        }
        for (const [operation, both] of Object.entries(answers))
          for (const answer of both)
            assert.equal(outcomeOf(answer), AFTER_CLOSING[operation as keyof typeof AFTER_CLOSING], operation)
        if (deletes)
          assertStatus(await patient.call('POST', `${pathOf(name, place, removed)}/restore`, { version: 1 }))
      })
    }
})
