import assert from 'node:assert/strict'
import { ehrPermissions, planPermissions } from '../../records/ehrs/rights/access.ts'

describe('access', () => {
  it("gives an EHR's permissions to its subject and its roles", () => {
    assert.deepEqual(ehrPermissions({ _id: 'ehr1', subjectId: 'user567890' }), {
      read: ['user567890', 'role:ehr-ehr1-write', 'role:ehr-ehr1-read'],
      write: ['user567890', 'role:ehr-ehr1-write'],
    })
  })

  it("gives a care plan's permissions to the EHR's writers and the plan's roles, not to all readers of the EHR", () => {
    assert.deepEqual(planPermissions({ _id: 'ehr1', subjectId: 'user567890' }, 'plan1'), {
      read: ['user567890', 'role:ehr-ehr1-write', 'role:plan-plan1-write', 'role:plan-plan1-read'],
      write: ['user567890', 'role:ehr-ehr1-write', 'role:plan-plan1-write'],
    })
  })

  it('omits a subject that cannot be a user', () => {
    for (const subjectId of ['*', 'role:ehr-ehr1-write', 'patient 12', '', 'user5678901'])
      assert.deepEqual(ehrPermissions({ _id: 'ehr1', subjectId }).write, ['role:ehr-ehr1-write'])
  })

  it('omits a subject who has not agreed', () => {
    const ehr = { _id: 'ehr1', subjectId: 'user567890', pending: true }
    assert.deepEqual(ehrPermissions(ehr).read, ['role:ehr-ehr1-write', 'role:ehr-ehr1-read'])
    assert.equal(planPermissions(ehr, 'plan1').read.includes('user567890'), false)
  })
})
