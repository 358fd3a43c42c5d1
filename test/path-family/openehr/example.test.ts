import assert from 'node:assert/strict'
import { readComposition } from '../../../records/openehr/compositions/reading.ts'
import { exampleOf } from '../../../records/openehr/examples/example.ts'
import { readTemplate } from '../../../records/openehr/opt/read-template.ts'
import { xmlOf } from '../../../records/openehr/rm/in-xml.ts'
import { newPatient } from '../../harness/care/patients.ts'
import { ok, refusedAt } from '../../harness/clients/path-client.ts'
import { corpusFiles } from '../../harness/corpus.ts'
import { corpusBytes, sendXml, someTemplate } from '../../harness/openehr.ts'

describe('examples of compositions', () => {
  it('are stored as they are, in both formats', async () => {
    const [template, patient] = await Promise.all([someTemplate(), newPatient()])
    const example = (more: string) =>
      patient.call('GET', `/med/knowledge/template/${encodeURIComponent(template)}/example${more}`)
    const at = `/med/ehr/${patient.ehrId}/composition`
    for (const level of ['required', 'medium']) {
      ok(await patient.call('POST', `${at}/json`, ok(await example(`?detail_level=${level}`))), 201)
      const xml = ok(await example(`?detail_level=${level}&format=xml`))
      ok(await sendXml(patient, 'POST', `${at}/xml`, xml), 201)
    }
    const flat = ok(await example('?detail_level=medium&format=flat'))
    assert.equal(flat['encounter/blood_pressure:0/any_event:0/systolic|unit'], 'mm[Hg]')
    assert.match(ok(await example('?type=output')).uid.value, /::hrs\.local::1$/)
    refusedAt(await example('?format=yaml'), 400, 'invalid-input')
  })

  it('follow every template of the corpus', async function () {
    const directories = ['templates', 'aql/data/opts', 'validation/data/templates']
    const files = directories.flatMap((directory) => corpusFiles(this, `openehr/${directory}`))
    const templates = files.map((file) => readTemplate(corpusBytes(file) as Buffer))
    assert.ok(templates.length >= 39)
    for (const template of templates)
      for (const level of ['required', 'medium', 'complete'] as const) {
        const json = exampleOf(template, level)
        const find = async (id: string) => (id === template.templateId ? { template } : undefined)
        await readComposition({ json }, find)
        await readComposition({ xml: Buffer.from(xmlOf(json, 'composition')) }, find)
      }
  })
})
