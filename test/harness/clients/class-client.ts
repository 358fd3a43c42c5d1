import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import type ParseSdk from 'parse/node'
import type { Response, Test } from 'supertest'
import { config, request, service } from '../service/service.ts'

/** The keys and the session of a caller. */
interface Caller {
  headers: Record<string, string>
}

type Body = Record<string, unknown>

export const parseDate = (iso: string) => ({ __type: 'Date', iso })

/** The class family's data layer for one user. */
export const createClassClient = ({ headers }: Caller) => {
  const call = (method: 'get' | 'post' | 'put' | 'delete', path: string): Test =>
    request()[method](`/1/classes/${path}`).set(headers)
  return {
    post: (className: string, body: Body) => call('post', className).send(body),
    put: (className: string, id: string, body: Body) => call('put', `${className}/${id}`).send(body),
    get: (className: string, id: string) => call('get', `${className}/${id}`),
    delete: (className: string, id: string) => call('delete', `${className}/${id}`),
    batch: (requests: Body[]) => request().post('/1/batch').set(headers).send({ requests }),
    list: (className: string, where: Body = {}, more: Body = {}) =>
      call('get', className).query({ where: JSON.stringify(where), ...more }),
  }
}

export const callFunction = ({ headers }: Caller, name: string, params: Body) =>
  request().post(`/1/functions/${name}`).set(headers).send(params)

export function assertError({ status, body }: Response, code: number, error?: string | RegExp): void {
  assert.equal(body.code, code, JSON.stringify(body))
  assert.equal(status, code === 101 ? 404 : 400)
  if (typeof error === 'string') assert.equal(body.error, error)
  if (error instanceof RegExp) assert.match(body.error, error)
}

/**
 * A Parse SDK as clients load it. The service shares its own copy with Parse Server, which bypasses HTTP in
 * that copy. So each client loads a copy of its own.
 */
export function loadSdk(url = service.url): typeof ParseSdk {
  const require = createRequire(import.meta.url)
  const ours = Object.entries(require.cache).filter(([path]) => /node_modules[\\/]parse[\\/]/.test(path))
  for (const [path] of ours) delete require.cache[path]
  const Parse: typeof ParseSdk & {
    initialize(...keys: string[]): void
    serverURL: string
  } = require('parse/node')
  for (const path of Object.keys(require.cache))
    if (/node_modules[\\/]parse[\\/]/.test(path)) delete require.cache[path]
  for (const [path, module] of ours) require.cache[path] = module
  Parse.initialize(config.applicationId, config.javascriptKey)
  Parse.serverURL = `${url}/1`
  return Parse
}
