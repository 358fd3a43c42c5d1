import assert from 'node:assert/strict'
import fc from 'fast-check'
import { Binary, Long } from 'mongodb'
import { classDefinitions } from '../../../cloud/class-definitions.ts'
import { loadParseServer } from '../../../cloud/parse-server/internals.ts'
import { isClassName } from '../../../records/kinds.ts'
import { storedToClassForm } from '../../../schemas/forms/class-form.ts'

const classes = classDefinitions.filter(({ className }) => isClassName(className))

const date = fc.date({ noInvalidDate: true, min: new Date('0000-01-01'), max: new Date('9999-12-31') })
const plain = fc.oneof(fc.string(), fc.double(), fc.boolean(), fc.constant(null), date, fc.array(fc.string()))
const special = fc.oneof(
  fc.array(fc.oneof(fc.string(), date, fc.double())),
  fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), plain),
  fc.constantFrom(Long.fromString('9007199254740993'), new Binary(Buffer.from('bytes'))),
)
const permissions = fc.array(fc.constantFrom('*', 'user', 'role:plan-read', 'role:plan-write'))

/** A stored object with some fields of a class. */
const storedObject = (names: string[], value: fc.Arbitrary<unknown>) =>
  fc.record(
    {
      _id: fc.string(),
      _created_at: date,
      _updated_at: date,
      _rperm: permissions,
      _wperm: permissions,
      ...Object.fromEntries(names.map((name) => [name, value])),
    },
    { requiredKeys: [] },
  )

/** Parse Server adds a list that an object lacks if it has the other one. */
const withPermissions = (form: object | undefined): object => ({ _rperm: [], _wperm: [], ...form })

describe('stored objects', () => {
  it('become class form as Parse Server converts them', async () => {
    const { conversion } = await loadParseServer()
    const convert = (className: string, stored: object, fields: object) =>
      conversion.mongoObjectToParseObject(className, structuredClone(stored), { fields })
    for (const { className, fields = {} } of classes) {
      const names = Object.keys(fields)
      const convertBoth = (stored: object) =>
        assert.deepEqual(
          withPermissions(storedToClassForm(stored)),
          withPermissions(convert(className, stored, fields)),
          className,
        )
      fc.assert(fc.property(storedObject(names, plain), convertBoth), { numRuns: 20 })
    }
  })

  it('are left to Parse Server if they have values of another form', async () => {
    for (const value of fc.sample(special, 100)) {
      const form = storedToClassForm({ _id: 'id', value })
      if (Array.isArray(value) && value.every((one) => typeof one === 'string'))
        assert.deepEqual(form, { objectId: 'id', value })
      else assert.equal(form, undefined)
    }
    assert.equal(storedToClassForm({ _id: 'id', _p_user: '_User$id' }), undefined)
  })

  it('have no fields of types that Parse Server stores as text', () => {
    const types = classes.flatMap(({ fields = {} }) => Object.values(fields).map(({ type }) => type))
    assert.deepEqual([...new Set(types)].sort(), ['Array', 'Boolean', 'Date', 'Number', 'Object', 'String'])
  })
})
