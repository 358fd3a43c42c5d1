import assert from 'node:assert/strict'
import { readComposition } from '../../../../openehr/compositions/read-composition.ts'
import { createExample } from '../../../../openehr/examples/example-composition.ts'
import { readTemplate } from '../../../../openehr/opt/read-template.ts'
import { toXml } from '../../../../openehr/rm/canonical-xml.ts'
import { createPatient } from '../../../harness/care/patients.ts'
import { assertProblemPlaces, assertStatus } from '../../../harness/clients/path-client.ts'
import { listCorpusFiles } from '../../../harness/corpus.ts'
import { getStoredTemplate, readCorpusBytes, sendXml } from '../../../harness/openehr-samples.ts'
import { createPerson } from '../../../harness/people/people.ts'

describe('example compositions', () => {
  it('are stored without changes, in both formats', async () => {
    const [template, patient] = await Promise.all([getStoredTemplate(), createPatient()])
    const example = (more: string) =>
      patient.call('GET', `/med/knowledge/template/${encodeURIComponent(template)}/example${more}`)
    const path = `/med/ehr/${patient.ehrId}/composition`
    for (const level of ['required', 'medium']) {
      assertStatus(
        await patient.call('POST', `${path}/json`, assertStatus(await example(`?detail_level=${level}`))),
        201,
      )
      const xml = assertStatus(await example(`?detail_level=${level}&format=xml`))
      assertStatus(await sendXml(patient, 'POST', `${path}/xml`, xml), 201)
    }
    const flat = assertStatus(await example('?detail_level=medium&format=flat'))
    assert.equal(flat['encounter/blood_pressure:0/any_event:0/systolic|unit'], 'mm[Hg]')
    assert.match(assertStatus(await example('?type=output')).uid.value, /::hrs\.local::1$/)
    assertProblemPlaces(await example('?format=yaml'), 400, 'invalid-input')
  })

  it('have the format of the address, else the one that the client accepts', async () => {
    const [template, person] = await Promise.all([getStoredTemplate(), createPerson()])
    const path = `/med/knowledge/template/${encodeURIComponent(template)}/example`
    const [json, xml] = ['application/json', 'application/xml']
    const typeOf = async (query: string, accept: string) => {
      const answer = await person.call('GET', `${path}${query}`, undefined, { accept })
      if (answer.status === 406) return 406
      assertStatus(answer)
      assert.match(answer.headers.get('vary') ?? '', /Accept(,|$)/)
      assert.equal(typeof answer.body, answer.headers.get('content-type') === xml ? 'string' : 'object')
      return answer.headers.get('content-type')
    }
    assert.deepEqual(
      [await typeOf('', xml), await typeOf('', json), await typeOf('', '*/*'), await typeOf('', 'text/csv')],
      [xml, json, json, 406],
    )
    for (const [format, type, other] of [
      ['json', json, xml],
      ['flat', json, xml],
      ['xml', xml, json],
    ] as const) {
      const query = `?format=${format}`
      assert.deepEqual(
        [
          await typeOf(query, `${other}, ${type};q=0.5`),
          await typeOf(query, '*/*'),
          await typeOf(query, other),
        ],
        [type, type, 406],
      )
    }
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
