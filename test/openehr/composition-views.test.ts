import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { XmlDocument, XsdValidator } from 'libxml2-wasm'
import { xmlRegisterFsInputProviders } from 'libxml2-wasm/lib/nodejs.mjs'
import type { CompositionView } from '../../openehr/composition-views/composition-view.ts'
import { createCompositionViews } from '../../openehr/composition-views/create-views.ts'
import { createExample } from '../../openehr/examples/example-composition.ts'
import { readTemplate } from '../../openehr/opt/read-template.ts'
import { readCanonicalJson } from '../../openehr/rm/canonical-json.ts'
import { templateViolations } from '../../openehr/validation/template-validation.ts'
import { CLASS_NAMES, classKindOf } from '../../records/kinds.ts'
import { isMeasurementKind } from '../../records/measurements/measurement.ts'
import { createStoredMeasurement } from '../harness/care/samples/stored-measurement.ts'
import { corpusPath } from '../harness/corpus.ts'

const VIEWS = createCompositionViews(CLASS_NAMES.map(classKindOf))

const storedOf = ({ kind, example }: CompositionView) =>
  isMeasurementKind(kind) ? createStoredMeasurement(kind) : example

describe('the records that are shown as compositions', () => {
  it('are the measurements, medications and immunisations', () => {
    const otherNames = VIEWS.filter(({ kind }) => !isMeasurementKind(kind)).map(({ kind }) => kind.name)
    assert.deepEqual(otherNames.sort(), ['Immunisation', 'Medication'])
    assert.ok(VIEWS.length >= 12)
  })

  it('have templates that are valid by the XML schema of templates', function () {
    xmlRegisterFsInputProviders()
    const path = corpusPath(this, 'openehr/schemas/xsd/Template.xsd')
    const schema = XmlDocument.fromBuffer(readFileSync(path), { url: path })
    const validator = XsdValidator.fromDoc(schema)
    const templates = VIEWS.map((view) => view.createTemplate())
    for (const [i, xml] of templates.entries()) {
      const template = XmlDocument.fromString(xml)
      assert.doesNotThrow(() => validator.validate(template), VIEWS[i]?.head.templateId)
      template.dispose()
    }
    const broken = XmlDocument.fromString(templates[0]?.replace(/<details>.*<\/details>/, '') ?? '')
    assert.throws(() => validator.validate(broken), /details/)
    for (const one of [broken, validator, schema]) one.dispose()
  })

  for (const view of VIEWS)
    it(`match their templates, as do the examples: ${view.kind.name}`, () => {
      const template = readTemplate(Buffer.from(view.createTemplate()))
      assert.deepEqual([template.templateId, template.concept], [view.head.templateId, view.head.name])
      const { object, violations } = readCanonicalJson(view.toComposition(storedOf(view)), 'COMPOSITION')
      assert.ok(object)
      assert.deepEqual([violations, templateViolations(template, object)], [[], []])
      for (const detail of ['required', 'medium'] as const)
        assert.deepEqual(templateViolations(template, createExample(template, detail)), [])
      const wrong = JSON.parse(
        JSON.stringify(object).replace(/"magnitude":|"numerator":|"(?=DV_TEXT","value":"Example)/, '$&-'),
      )
      assert.notDeepEqual(templateViolations(template, wrong), [])
    })
})
