import assert from 'node:assert/strict'
import { readComposition } from '../../../../openehr/compositions/read-composition.ts'
import { createExample } from '../../../../openehr/examples/example-composition.ts'
import { readTemplate } from '../../../../openehr/opt/read-template.ts'
import { toXml } from '../../../../openehr/rm/canonical-xml.ts'
import { createPatient } from '../../../harness/care/patients.ts'
import { assertProblemPlaces, assertStatus } from '../../../harness/clients/path-client.ts'
import { listCorpusFiles } from '../../../harness/corpus.ts'
import { getStoredTemplate, readCorpusBytes, sendXml } from '../../../harness/openehr-samples.ts'

describe('example compositions', () => {
  it('are stored without changes, in both formats', async () => {
    const [template, patient] = await Promise.all([getStoredTemplate(), createPatient()])
    const example = (more: string) =>
      patient.call('GET', `/med/knowledge/template/${encodeURIComponent(template)}/example${more}`)
    const at = `/med/ehr/${patient.ehrId}/composition`
    for (const level of ['required', 'medium']) {
      assertStatus(
        await patient.call('POST', `${at}/json`, assertStatus(await example(`?detail_level=${level}`))),
        201,
      )
      const xml = assertStatus(await example(`?detail_level=${level}&format=xml`))
      assertStatus(await sendXml(patient, 'POST', `${at}/xml`, xml), 201)
    }
    const flat = assertStatus(await example('?detail_level=medium&format=flat'))
    assert.equal(flat['encounter/blood_pressure:0/any_event:0/systolic|unit'], 'mm[Hg]')
    assert.match(assertStatus(await example('?type=output')).uid.value, /::hrs\.local::1$/)
    assertProblemPlaces(await example('?format=yaml'), 400, 'invalid-input')
  })

  it('exist for every template of the corpus', async function () {
    const directories = ['templates', 'aql/data/opts', 'validation/data/templates']
    const files = directories.flatMap((directory) => listCorpusFiles(this, `openehr/${directory}`))
    const templates = files.map((file) => readTemplate(readCorpusBytes(file) as Buffer))
    assert.ok(templates.length >= 39)
    for (const template of templates)
      for (const level of ['required', 'medium', 'complete'] as const) {
        const json = createExample(template, level)
        const find = async (id: string) => (id === template.templateId ? { template } : undefined)
        await readComposition({ json }, find)
        await readComposition({ xml: Buffer.from(toXml(json, 'composition')) }, find)
      }
  })
})
