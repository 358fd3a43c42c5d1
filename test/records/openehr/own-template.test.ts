import assert from 'node:assert/strict'
import { MEASUREMENTS } from '../../../records/kinds.ts'
import { exampleOf } from '../../../records/openehr/examples/example.ts'
import { compositionOf, headOf } from '../../../records/openehr/measured/composition-of.ts'
import { ownTemplateOf } from '../../../records/openehr/measured/own-template.ts'
import { readTemplate } from '../../../records/openehr/opt/read-template.ts'
import { canonical } from '../../../records/openehr/rm/canonical.ts'
import { violationsIn } from '../../../records/openehr/validation/validate.ts'
import { storedOf } from '../../harness/care/samples/stored-measurement.ts'

describe('the templates of measurements', () => {
  for (const kind of MEASUREMENTS)
    it(`${kind.name}: what is stored fits, and so do its examples`, () => {
      const template = readTemplate(Buffer.from(ownTemplateOf(kind)))
      assert.deepEqual([template.templateId, template.concept], [headOf(kind).templateId, headOf(kind).name])
      const { object, violations } = canonical(compositionOf(kind, storedOf(kind)), 'COMPOSITION')
      assert.ok(object)
      assert.deepEqual([violations, violationsIn(template, object)], [[], []])
      for (const detail of ['required', 'medium'] as const)
        assert.deepEqual(violationsIn(template, exampleOf(template, detail)), [])
      const wrong = JSON.parse(JSON.stringify(object).replace(/"magnitude":|"numerator":/, '$&-'))
      assert.notDeepEqual(violationsIn(template, wrong), [])
    })
})
