import assert from 'node:assert/strict'
import { classDefinitions } from '../../../cloud/class-definitions.ts'
import { CLASS_NAMES } from '../../../records/kinds.ts'

const OPERATIONS = ['addField', 'count', 'create', 'delete', 'find', 'get', 'protectedFields', 'update']
const definition = (name: string) => classDefinitions.find(({ className }) => className === name)!

describe('class definitions', () => {
  it('set the permissions of every operation of every class, since an omitted one would be public', () => {
    for (const { className, classLevelPermissions } of classDefinitions)
      assert.deepEqual(Object.keys(classLevelPermissions).sort(), OPERATIONS, className)
  })

  it('allow nothing but sign-up without a session', () => {
    for (const { className, classLevelPermissions } of classDefinitions)
      for (const [operation, allowed] of Object.entries(classLevelPermissions)) {
        if (operation === 'protectedFields') continue
        const everyone = className === '_User' && operation === 'create'
        assert.equal('*' in allowed, everyone, `${className} ${operation}`)
      }
  })

  it('include every class, also the system classes', () => {
    assert.deepEqual(
      classDefinitions.map(({ className }) => className),
      [...CLASS_NAMES, '_User', '_Session', '_Role', '_Installation', '_Product'],
    )
  })

  it('take their fields from the schemas', () => {
    const { fields } = definition('BloodPressure')
    assert.deepEqual(fields?.timestamp, { type: 'Date' })
    assert.deepEqual(fields?.systolic, { type: 'Number' })
    assert.deepEqual(fields?.version, { type: 'Number' })
    assert.deepEqual(definition('Custom').fields?.payload, { type: 'Object' })
    assert.deepEqual(definition('CarePlan').fields?.anonymous, { type: 'Boolean', defaultValue: false })
    assert.equal(fields?.objectId, undefined)
  })
})
