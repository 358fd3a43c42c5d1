import assert from 'node:assert/strict'
import { openPaths, pendingRoleMatrix, roleMatrix } from './matrix.ts'

describe('the path family on EHRs', () => {
  it('is open to everybody only for empty questionnaires, and pages that ask who it is by a form of their own', () => {
    const isQuestionnaire = (path: string) => /^\/ehr\/procedure\/\w+\/\w+\.(wizard\.json|js)$/.test(path)
    assert.deepEqual(
      openPaths().filter((path) => !isQuestionnaire(path)),
      ['/ehr/audit', '/ehr/audit-leave'],
    )
  })
})

roleMatrix('the rest')
pendingRoleMatrix('the rest')
