import assert from 'node:assert/strict'
import { createClassClient, parseDate } from '../clients/class-client.ts'
import type { Person } from '../people/people.ts'

type Body = Record<string, unknown>

/** The account EHR of the user. */
export async function ehrOf(user: Person): Promise<string> {
  const { body } = await createClassClient(user).list('Ehr', { subjectId: user.mvUid }).expect(200)
  assert.equal(body.results.length, 1)
  return body.results[0].objectId
}

/** A new care plan in the user's account EHR. */
export async function createPlanInOwnEhr(user: Person): Promise<{ ehrId: string; carePlanId: string }> {
  const ehrId = await ehrOf(user)
  const { body } = await createClassClient(user)
    .post('CarePlan', { ehrId, name: 'Lower blood pressure' })
    .expect(201)
  return { ehrId, carePlanId: body.objectId }
}

export const createPressureObject = (carePlanId: string, more: Body = {}) => ({
  carePlanId,
  timestamp: parseDate('2026-01-02T03:04:05.000Z'),
  systolic: 128,
  systolicUnit: 'mm[Hg]',
  ...more,
})
