import assert from 'node:assert/strict'
import type { Response, Test } from 'supertest'
import { request, type TestUser } from '../helper.ts'

type Body = Record<string, unknown>

export const moment = (iso: string) => ({ __type: 'Date', iso })

/** The data layer, as one user sees it. */
export const classesOf = ({ headers }: Pick<TestUser, 'headers'>) => {
  const call = (method: 'get' | 'post' | 'put' | 'delete', path: string): Test =>
    request()[method](`/1/classes/${path}`).set(headers)
  return {
    post: (className: string, body: Body) => call('post', className).send(body),
    put: (className: string, id: string, body: Body) => call('put', `${className}/${id}`).send(body),
    get: (className: string, id: string) => call('get', `${className}/${id}`),
    delete: (className: string, id: string) => call('delete', `${className}/${id}`),
    batch: (requests: Body[]) => request().post('/1/batch').set(headers).send({ requests }),
    list: (className: string, where: Body = {}) =>
      call('get', className).query({ where: JSON.stringify(where) }),
  }
}

export const functionOf = ({ headers }: Pick<TestUser, 'headers'>, name: string, params: Body) =>
  request().post(`/1/functions/${name}`).set(headers).send(params)

/** The EHR that came with the user's account. */
export async function ehrOf(user: TestUser): Promise<string> {
  const { body } = await classesOf(user).list('Ehr', { subjectId: user.id }).expect(200)
  assert.equal(body.results.length, 1)
  return body.results[0].objectId
}

/** A new care plan in the user's own EHR. */
export async function newPlan(user: TestUser): Promise<{ ehrId: string; carePlanId: string }> {
  const ehrId = await ehrOf(user)
  const { body } = await classesOf(user).post('CarePlan', { ehrId, name: 'Lower blood pressure' }).expect(201)
  return { ehrId, carePlanId: body.objectId }
}

export const newPressure = (carePlanId: string, more: Body = {}) => ({
  carePlanId,
  timestamp: moment('2026-01-02T03:04:05.000Z'),
  systolic: 128,
  systolicUnit: 'mm[Hg]',
  ...more,
})

export function assertError({ status, body }: Response, code: number, error?: string | RegExp): void {
  assert.equal(body.code, code, JSON.stringify(body))
  assert.equal(status, code === 101 ? 404 : 400)
  if (typeof error === 'string') assert.equal(body.error, error)
  if (error instanceof RegExp) assert.match(body.error, error)
}
