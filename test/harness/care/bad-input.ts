import assert from 'node:assert/strict'
import type { TSchema } from '@sinclair/typebox'
import { Form, Raw } from '../../../path-api/answer/media.ts'
import { exampleOf } from '../../../path-api/documentation/example.ts'
import type { Operation } from '../../../path-api/operation/operation.ts'
import { table } from '../../../path-api/table.ts'
import { placesIn } from '../clients/named.ts'
import { ok } from '../clients/path-client.ts'
import { forgedCursors, spoiled } from '../nasty.ts'
import { newPerson } from '../people/people.ts'
import { isFullSize } from '../size.ts'
import { newGoal, newPatient, newPlan, newTask, type Patient } from './patients.ts'
import { isSampled } from './samples/kinds-of-each-shape.ts'

/** What is closed takes nothing more: closing comes last. */
const closesLast = (one: Operation, other: Operation) =>
  Number(one.path.endsWith('/close')) - Number(other.path.endsWith('/close'))

/** Those that are there twice are the same below /med. */
const operations = table
  .filter(({ path, id }) => /^\/(ehr|med)(\/|$)/.test(path) && !id.includes('Medical'))
  .filter(isSampled)
  .sort(closesLast)

/** Spoils every body, query and list of measurements, or of everything else in an EHR. */
export const badInput = (what: 'measurements' | 'EHRs') =>
  describe(`bad input to ${what}`, function suite() {
    const chosen = operations.filter(({ path }) => path.includes('/procedure') === (what === 'measurements'))
    this.timeout(60_000)
    let patient: Patient
    const ids: Record<string, string> = { guidelineId: 'asthma' }
    before(async () => {
      patient = await newPatient()
      const nurse = await newPerson()
      const planId = await newPlan(patient)
      const goalId = await newGoal(patient, planId)
      const participant = { mvUid: nurse.mvUid, access: 'READ' }
      const added = await patient.call('POST', `careplan/${planId}/participant`, participant)
      const event = { type: 'visit', title: 'x', start: '2026-03-01T09:00:00Z' }
      const eventId = ok(await patient.call('POST', `/med/${patient.ehrId}/event`, event), 201).id
      Object.assign(ids, { ehrId: patient.ehrId, careplanId: planId, ownerId: planId, goalId, eventId })
      ids.taskId = await newTask(patient, planId, goalId)
      ids.participationId = ok(added, 201).participationId
    })

    const pathOf = ({ path }: Operation) => path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? 'x')

    for (const operation of chosen) {
      const { body, method } = operation
      if (body === undefined || body instanceof Raw || body instanceof Form) continue
      it(`never breaks ${operation.id}, which names what is wrong`, async () => {
        const {
          id: _,
          participationId: __,
          ...example
        } = exampleOf(body as TSchema) as Record<string, unknown>
        const bodies = [...spoiled(example)]
        for (let i = 0; i < bodies.length; i += 20) {
          const sent = bodies
            .slice(i, i + 20)
            .map((bad) => patient.call(method.toUpperCase(), pathOf(operation), bad, { 'if-match': '*' }))
          for (const [at, answer] of (await Promise.all(sent)).entries()) {
            const told = `${answer.status} ${JSON.stringify(answer.body)}: ${JSON.stringify(bodies[i + at])}`
            assert.ok(answer.status < 500, told.slice(0, 900))
            if (answer.status !== 400 && answer.status !== 422) continue
            assert.ok(
              placesIn(answer).every((place) => /^(path|body)\b/.test(place)),
              told.slice(0, 900),
            )
          }
        }
      })
    }

    it('never breaks a list', async () => {
      const names = [
        ...['Ehr.newest', 'CarePlan.newest', 'Task.byDueDate', 'plan.participants.ofPlan'],
        ...['Event.ofEhr', 'Diagnosis.ofEhr', 'history', 'audit', 'templates'],
      ]
      const cursors = names.flatMap(forgedCursors).map((cursor) => `cursor=${cursor}`)
      const lists = chosen.filter(({ query }) => 'cursor' in query.properties)
      for (const [at, operation] of lists.entries()) {
        // Others for each list.
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
          const told = `${operation.id} ${query}: ${JSON.stringify(answer.body)}`
          assert.ok(answer.status < 500, told)
          if (answer.status !== 400) return
          assert.ok(
            placesIn(answer).every((place) => place.startsWith('query.')),
            told,
          )
        })
        await Promise.all(answers)
      }
    })
  })
