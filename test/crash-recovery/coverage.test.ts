import assert from 'node:assert/strict'
import type { Operation } from '../../path-api/operation/operation.ts'
import { operationTable } from '../../path-api/operation-table.ts'
import { createPathMatcher } from '../../path-api/request/path-matcher.ts'
import { kinds } from '../../records/kinds.ts'
import type { TrialEhr } from './trials/clinic.ts'
import { WRITES_BY_FAMILY } from './trials/clinical-writes.ts'

const match = createPathMatcher(operationTable)

/** Whether an operation changes data about a person. */
const isWriteOperation = ({ method, path, access, kind }: Operation): boolean =>
  method !== 'get' &&
  (path.includes('{ehrId}') ||
    access === 'chat' ||
    access === 'user-data' ||
    (kind === 'Ehr' && access === 'user'))

/**
 * A name for operations that run the same code: operations with two prefixes, plain operations of ordinary
 * kinds, both formats, and restores of a version.
 */
function codePathOf({ id, method, path, kind, access }: Operation): string {
  if (access === 'chat' || access === 'user-data') return id
  if (path.endsWith('/restore') && access !== 'admin') return 'restore a version'
  const place = kinds.find(({ collection }) => collection === kind)
  const segments = path
    .replaceAll(/\{\w+\}/g, '{}')
    .split('/')
    .slice(2)
  if (place && !path.includes('/careplan') && path.includes('{ehrId}'))
    return `${method === 'put' && !path.endsWith('Id}') ? 'post' : method} a record of ${place.parentType}`
  return `${method} ${segments
    .filter((segment) => segment !== 'ehr')
    .join('/')
    .replace(/xml$/, 'json')}`
}

describe('the crash trials', () => {
  it('include all writes of the path family to an EHR, a chat, and a user’s own data', () => {
    const place = { headers: {}, name: 'x', guests: ['x', 'x'] } as unknown as TrialEhr
    const ids = new Proxy(place, { get: (target, name) => Reflect.get(target, name) ?? 'x' })
    const tried = WRITES_BY_FAMILY['path family'].map(({ name, ask }) => {
      const { method, path } = ask(ids)
      const operation = match(path.split('?')[0] ?? '')?.routes.get(
        method.toLowerCase() as Operation['method'],
      )
      assert.ok(operation, name)
      return codePathOf(operation)
    })
    const operations = operationTable.filter(isWriteOperation)
    assert.ok(operations.length > 50)
    const missing = operations
      .filter((operation) => !tried.includes(codePathOf(operation)))
      .map(({ id }) => id)
    assert.deepEqual(missing, [], `add these writes to trials/clinical-writes.ts: ${missing}`)
  })
})
