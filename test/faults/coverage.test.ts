import assert from 'node:assert/strict'
import type { Operation } from '../../path-api/operation/operation.ts'
import { pathMatcher } from '../../path-api/request/match.ts'
import { table } from '../../path-api/table.ts'
import { kinds } from '../../records/kinds.ts'
import type { Place } from './trials/clinic.ts'
import { families } from './trials/writes.ts'

const match = pathMatcher(table)

/** Whether an operation changes what there is about somebody. */
const writes = ({ method, path, access, kind }: Operation): boolean =>
  method !== 'get' &&
  (path.includes('{ehrId}') ||
    access === 'chat' ||
    access === 'user-data' ||
    (kind === 'Ehr' && access === 'user'))

/**
 * What operations have alike that are written by the same code: they are mounted twice, plain operations of kinds that
 * are like any other, in both formats, or restore a version.
 */
function wayOf({ id, method, path, kind, access }: Operation): string {
  if (access === 'chat' || access === 'user-data') return id
  if (path.endsWith('/restore') && access !== 'admin') return 'restore a version'
  const place = kinds.find(({ collection }) => collection === kind)
  const segments = path
    .replaceAll(/\{\w+\}/g, '{}')
    .split('/')
    .slice(2)
  if (place && !path.includes('/careplan') && path.includes('{ehrId}'))
    return `${method === 'put' && !path.endsWith('Id}') ? 'post' : method} a record of ${place.registeredIn}`
  return `${method} ${segments
    .filter((segment) => segment !== 'ehr')
    .join('/')
    .replace(/xml$/, 'json')}`
}

describe('the writes that a service is killed in', () => {
  it('are all that the path family offers on an EHR, in a chat, and of a user’s own data', () => {
    const place = { headers: {}, name: 'x', guests: ['x', 'x'] } as unknown as Place
    const ids = new Proxy(place, { get: (known, name) => Reflect.get(known, name) ?? 'x' })
    const tried = families['path family'].map(({ name, ask }) => {
      const { method, path } = ask(ids)
      const found = match(path.split('?')[0] ?? '')?.routes.get(method.toLowerCase() as Operation['method'])
      assert.ok(found, name)
      return wayOf(found)
    })
    const offered = table.filter(writes)
    assert.ok(offered.length > 50)
    const missing = offered.filter((operation) => !tried.includes(wayOf(operation)))
    assert.deepEqual(
      missing.map(({ id }) => id),
      [],
    )
  })
})
