import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { TObject } from '@sinclair/typebox'
import { exampleOf } from '../../../path-api/documentation/example.ts'
import type { Operation } from '../../../path-api/operation/operation.ts'
import { operationTable } from '../../../path-api/operation-table.ts'
import { newPlace, type Place } from '../../family-kinds.ts'
import { outcomesOf } from '../../harness/care/audit-traces.ts'
import { addParticipant } from '../../harness/care/patients.ts'
import { fillPath } from '../../harness/care/samples/examples.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { createPerson, type Person } from '../../harness/people/people.ts'

/** The operations on data of EHRs whose path names no EHR. */
const operations = operationTable.filter(({ access }) => access === 'user-data' || access === 'chat')

const OUTCOMES: Readonly<Record<number, string>> = { 404: 'denied', 403: 'refused' }

describe('refusals of operations whose path names no EHR', () => {
  let place: Place
  let callers: Record<string, Person>
  let ids: Record<string, string>

  before(async () => {
    const [own, stranger, reader] = await Promise.all([newPlace(), createPerson(), createPerson()])
    ;({ place } = own)
    callers = { stranger, reader }
    await addParticipant(place.carePlanId, reader, 'read')
    const chat = `/chat/careplan/${place.carePlanId}`
    const { patient } = own
    const topicId = assertStatus(await patient.call('POST', chat, { title: 'x', text: 'y' }), 201).id
    const messageId = assertStatus(await patient.call('POST', `${chat}/${topicId}`, { text: 'z' }), 201).id
    const values = { type: 'careplan', id: place.carePlanId, topicId, messageId }
    ids = { ...values, mvUid: patient.mvUid, eventId: 'fall' }
  })

  function bodyOf({ body }: Operation): unknown {
    if (body === undefined) return undefined
    const { replyTo: _, attachments: __, ...example } = exampleOf(body as TObject) as Record<string, unknown>
    return 'carePlanId' in example ? { ...example, carePlanId: place.carePlanId } : example
  }

  for (const operation of operations)
    it(`leave one entry in the audit of the EHR: ${operation.id}`, async () => {
      for (const [who, caller] of Object.entries(callers)) {
        const requestId = randomUUID()
        const path = fillPath(operation.path, ids)
        const { status } = await caller.call(operation.method.toUpperCase(), path, bodyOf(operation), {
          'x-request-id': requestId,
        })
        if (who === 'stranger') assert.equal(status, 404)
        const outcome = OUTCOMES[status]
        if (outcome) assert.deepEqual(await outcomesOf(requestId), [`${outcome} ${place.ehrId}`], who)
      }
    })
})
