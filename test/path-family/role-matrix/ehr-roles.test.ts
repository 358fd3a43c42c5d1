import assert from 'node:assert/strict'
import { openPaths, pendingRoleMatrix, roleMatrix } from './matrix.ts'

describe('the path family on EHRs', () => {
  it('requires a login except for empty questionnaires, and pages with a login form of their own', () => {
    const isQuestionnaire = (path: string) => /^\/ehr\/procedure\/\w+\/\w+\.(wizard\.json|js)$/.test(path)
    assert.deepEqual(
      openPaths().filter((path) => !isQuestionnaire(path)),
      ['/ehr/audit', '/ehr/audit-leave'],
    )
  })
})

roleMatrix('the rest')
pendingRoleMatrix('the rest')
