import assert from 'node:assert/strict'
import type { TSchema } from '@sinclair/typebox'
import { exampleOf } from '../../../path-api/documentation/example.ts'
import type { Operation } from '../../../path-api/operation/operation.ts'
import { operationTable } from '../../../path-api/operation-table.ts'
import { FormBody, RawBody } from '../../../path-api/reply/body-media.ts'
import { assertStatus } from '../clients/path-client.ts'
import { placesOfViolations } from '../clients/violation-places.ts'
import { createForgedCursors, withNaughtyValues } from '../naughty-values.ts'
import { createPerson } from '../people/people.ts'
import { isFullSize } from '../test-size.ts'
import { createGoal, createPatient, createPlan, createTask, type Patient } from './patients.ts'
import { isSampled } from './samples/kinds-of-each-shape.ts'

/** Closed records refuse changes, so closing comes last. */
const compareClosing = (one: Operation, other: Operation) =>
  Number(one.path.endsWith('/close')) - Number(other.path.endsWith('/close'))

/** Operations mounted twice are the same below /med. */
const SAMPLED_OPERATIONS = operationTable
  .filter(({ path, id }) => /^\/(ehr|med)(\/|$)/.test(path) && !id.includes('Medical'))
  .filter(isSampled)
  .sort(compareClosing)

/** Sends invalid bodies, queries and lists to all operations on measurements, or to all others in an EHR. */
export const describeBadInput = (what: 'measurements' | 'EHRs') =>
  describe(`bad input to ${what}`, function suite() {
    const operations = SAMPLED_OPERATIONS.filter(
      ({ path }) => path.includes('/procedure') === (what === 'measurements'),
    )
    this.timeout(isFullSize ? 300_000 : 60_000)
    let patient: Patient
    const ids: Record<string, string> = { guidelineId: 'asthma' }
    before(async () => {
      patient = await createPatient()
      const nurse = await createPerson()
      const planId = await createPlan(patient)
      const goalId = await createGoal(patient, planId)
      const participant = { mvUid: nurse.mvUid, access: 'READ' }
      const added = await patient.call('POST', `careplan/${planId}/participant`, participant)
      const event = { type: 'visit', title: 'x', start: '2026-03-01T09:00:00Z' }
      const eventId = assertStatus(await patient.call('POST', `/med/${patient.ehrId}/event`, event), 201).id
      Object.assign(ids, { ehrId: patient.ehrId, careplanId: planId, ownerId: planId, goalId, eventId })
      ids.taskId = await createTask(patient, planId, goalId)
      ids.participationId = assertStatus(added, 201).participationId
    })

    const pathOf = ({ path }: Operation) => path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? 'x')

    for (const operation of operations) {
      const { body, method } = operation
      if (body === undefined || body instanceof RawBody || body instanceof FormBody) continue
      it(`names the violations of bad input to ${operation.id}, and never fails`, async () => {
        const {
          id: _,
          participationId: __,
          ...example
        } = exampleOf(body as TSchema) as Record<string, unknown>
        const bodies = [...withNaughtyValues(example)]
        for (let i = 0; i < bodies.length; i += 20) {
          const requests = bodies
            .slice(i, i + 20)
            .map((bad) => patient.call(method.toUpperCase(), pathOf(operation), bad, { 'if-match': '"1"' }))
          for (const [at, answer] of (await Promise.all(requests)).entries()) {
            const message = `${answer.status} ${JSON.stringify(answer.body)}: ${JSON.stringify(bodies[i + at])}`
            assert.ok(answer.status < 500, message.slice(0, 900))
            if (answer.status !== 400 && answer.status !== 422) continue
            assert.ok(
              placesOfViolations(answer).every((place) => /^(path|body)\b/.test(place)),
              message.slice(0, 900),
            )
          }
        }
      })
    }

    it('answers every bad list request', async () => {
      const names = [
        'Ehr.newest',
        'CarePlan.newest',
        'Task.byDueDate',
        'plan.participants.ofPlan',
        'Event.ofEhr',
        'Diagnosis.ofEhr',
        'history',
        'audit',
        'templates',
      ]
      const cursors = names.flatMap(createForgedCursors).map((cursor) => `cursor=${cursor}`)
      const lists = operations.filter(({ query }) => 'cursor' in query.properties)
      for (const [at, operation] of lists.entries()) {
        // A different selection for each list.
        const forged = cursors.filter((_, i) => isFullSize || i % 5 === at % 5)
        const filters = Object.keys(operation.query.properties).flatMap((name) =>
          [
            '',
            '%00',
            '%ff',
            '%ed%a0%80',
            '0000-01-01',
            '9999-12-31T23:59:59-12:00',
            '[$ne]',
            '-1',
            '1e400',
          ].map((value) => `${name}=${value}`),
        )
        const answers = [...forged, ...filters].map(async (query) => {
          const answer = await patient.call('GET', `${pathOf(operation)}?${query}`)
          const message = `${operation.id} ${query}: ${JSON.stringify(answer.body)}`
          assert.ok(answer.status < 500, message)
          if (answer.status !== 400) return
          assert.ok(
            placesOfViolations(answer).every((place) => place.startsWith('query.')),
            message,
          )
        })
        await Promise.all(answers)
      }
    })
  })
