import assert from 'node:assert/strict'
import { createExample } from '../../openehr/examples/example-composition.ts'
import { measurementTemplate } from '../../openehr/measurement-mapping/measurement-templates.ts'
import { compositionHead, toComposition } from '../../openehr/measurement-mapping/to-composition.ts'
import { readTemplate } from '../../openehr/opt/read-template.ts'
import { readCanonicalJson } from '../../openehr/rm/canonical-json.ts'
import { templateViolations } from '../../openehr/validation/template-validation.ts'
import { MEASUREMENT_KINDS } from '../../records/kinds.ts'
import { createStoredMeasurement } from '../harness/care/samples/stored-measurement.ts'

describe('the templates of measurements', () => {
  for (const kind of MEASUREMENT_KINDS)
    it(`fit the stored measurements and the examples: ${kind.name}`, () => {
      const template = readTemplate(Buffer.from(measurementTemplate(kind)))
      assert.deepEqual(
        [template.templateId, template.concept],
        [compositionHead(kind).templateId, compositionHead(kind).name],
      )
      const { object, violations } = readCanonicalJson(
        toComposition(kind, createStoredMeasurement(kind)),
        'COMPOSITION',
      )
      assert.ok(object)
      assert.deepEqual([violations, templateViolations(template, object)], [[], []])
      for (const detail of ['required', 'medium'] as const)
        assert.deepEqual(templateViolations(template, createExample(template, detail)), [])
      const wrong = JSON.parse(JSON.stringify(object).replace(/"magnitude":|"numerator":/, '$&-'))
      assert.notDeepEqual(templateViolations(template, wrong), [])
    })
})
