import assert from 'node:assert/strict'
import { openPaths, pendingRoleMatrix, roleMatrix } from './matrix.ts'

describe('the path family on EHRs', () => {
  it('is open to everybody only for pages that ask who it is by a form of their own', () => {
    assert.deepEqual(openPaths(), ['/ehr/audit', '/ehr/audit-leave'])
  })
})

roleMatrix('the rest')
pendingRoleMatrix('the rest')
