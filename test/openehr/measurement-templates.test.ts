import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { XmlDocument, XsdValidator } from 'libxml2-wasm'
import { xmlRegisterFsInputProviders } from 'libxml2-wasm/lib/nodejs.mjs'
import { createExample } from '../../openehr/examples/example-composition.ts'
import { measurementTemplate } from '../../openehr/measurement-mapping/measurement-templates.ts'
import { compositionHead, toComposition } from '../../openehr/measurement-mapping/to-composition.ts'
import { readTemplate } from '../../openehr/opt/read-template.ts'
import { readCanonicalJson } from '../../openehr/rm/canonical-json.ts'
import { templateViolations } from '../../openehr/validation/template-validation.ts'
import { MEASUREMENT_KINDS } from '../../records/kinds.ts'
import type { MeasurementKind } from '../../records/measurements/measurement.ts'
import { createStoredMeasurement } from '../harness/care/samples/stored-measurement.ts'
import { corpusPath } from '../harness/corpus.ts'

describe('the templates of measurements', () => {
  it('are valid by the XML schema of templates', function () {
    xmlRegisterFsInputProviders()
    const path = corpusPath(this, 'openehr/schemas/xsd/Template.xsd')
    const schema = XmlDocument.fromBuffer(readFileSync(path), { url: path })
    const validator = XsdValidator.fromDoc(schema)
    assert.ok(MEASUREMENT_KINDS.length >= 10)
    for (const kind of MEASUREMENT_KINDS) {
      const template = XmlDocument.fromString(measurementTemplate(kind))
      assert.doesNotThrow(() => validator.validate(template), kind.name)
      template.dispose()
    }
    const broken = XmlDocument.fromString(
      measurementTemplate(MEASUREMENT_KINDS[0] as MeasurementKind).replace(/<details>.*<\/details>/, ''),
    )
    assert.throws(() => validator.validate(broken), /details/)
    for (const one of [broken, validator, schema]) one.dispose()
  })

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
