import assert from 'node:assert/strict'
import { classKindOf } from '../../records/kinds.ts'
import {
  byClass,
  createByPath,
  expectedOf,
  KIND_NAMES,
  kinds,
  newPlace,
  type Place,
  pathOf,
} from '../family-kinds.ts'
import { addParticipant, createPlan, type Patient } from '../harness/care/patients.ts'
import { createPerson, type Person } from '../harness/people/people.ts'

/** The refusals of the path family by the code of the class family (docs/decisions/rights.md). */
const STATUSES: Readonly<Record<number, number>> = { 101: 404, 119: 403 }

/** The response of a family: a status of refusal, or `done`. */
type Outcome = number | 'done'

describe('both families without rights', () => {
  let patient: Patient
  let place: Place
  const callers: Record<string, Person> = {}
  before(async () => {
    ;({ patient, place } = await newPlace())
    for (const name of ['reader', 'participant of another plan', 'stranger'])
      callers[name] = await createPerson()
    await addParticipant(place.carePlanId, callers.reader as Person, 'read')
    const other = await createPlan(patient)
    await addParticipant(other, callers['participant of another plan'] as Person, 'write')
  })

  for (const name of KIND_NAMES) {
    const { change, shows, deletes, isNamed } = kinds[name]
    it(`refuse every operation on ${name} in the same way`, async () => {
      const id = String((await createByPath(patient, name, place)).id)
      for (const [who, caller] of Object.entries(callers)) {
        const body = expectedOf(name, id)
        const path = async (method: string, at: string, requestBody?: object): Promise<Outcome> => {
          const { status } = await caller.call(method, at, requestBody)
          return status < 300 ? 'done' : status
        }
        const inClass = async (
          work: PromiseLike<{ status: number; body: { code?: number } }>,
        ): Promise<Outcome> => {
          const { status, body } = await work
          return status < 300 ? 'done' : (STATUSES[body.code ?? 0] ?? status)
        }
        const one = pathOf(name, place, id)
        const { get, put, post, delete: remove } = byClass(caller)
        const both: [operation: string, byPath: Outcome, byClass: Outcome][] = []
        if (shows) both.push(['read', await path('GET', one), await inClass(get(name, id))])
        if (change && !isNamed)
          both.push(['change', await path('PUT', one, body), await inClass(put(name, id, change))])
        if (name !== 'Ehr') {
          const { at, method, object, body: own } = kinds[name]
          const planReference = 'carePlanId' in classKindOf(name).body.properties && {
            carePlanId: place.carePlanId,
          }
          const created = await path(method, at(place, own), { ...own, ...planReference })
          both.push(['create', created, await inClass(post(name, object(place)))])
        }
        if (deletes) both.push(['delete', await path('DELETE', one), await inClass(remove(name, id))])
        for (const [operation, byPath, ours] of both) {
          assert.equal(byPath, ours, `${who}: ${operation}`)
          if (who === 'stranger') assert.equal(byPath, 404, operation)
          else if (operation !== 'read')
            assert.ok(byPath === 403 || byPath === 404, `${operation}: ${byPath}`)
        }
      }
    })
  }
})
