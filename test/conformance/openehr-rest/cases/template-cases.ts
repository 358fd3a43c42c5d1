import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { createTemplateXml } from '../../../harness/openehr-samples.ts'
import { asXml, showing } from '../../../harness/people/rest-systems.ts'
import { assertStatuses, type ConformanceArea, type ConformanceCase, createEhr } from '../fixture.ts'

const TEMPLATES = '/definition/template/adl1.4'
const FLAT = 'application/openehr.wt.flat+json'
const pathOf = (template: string, more = '') => `${TEMPLATES}/${encodeURIComponent(template)}${more}`
const newTemplate = () => Buffer.from(createTemplateXml(`Pressure ${randomUUID()}`))

const templates: ConformanceCase[] = [
  {
    does: 'stores a template, and shows it if the client prefers that',
    run: async ({ rest }) => {
      const template = newTemplate()
      const answer = await rest('POST', TEMPLATES, template, { ...asXml, ...showing })
      assertStatuses(answer, 201)
      assert.equal(answer.body, template.toString())
      assert.ok(answer.etag)
      assert.ok(answer.headers.get('location')?.includes(TEMPLATES))
      const accept = 'application/json'
      const web = await rest('POST', TEMPLATES, newTemplate(), { ...asXml, ...showing, accept })
      assert.deepEqual([web.status, web.headers.get('content-type')], [201, accept])
      assert.ok(web.body.templateId)
    },
  },
  {
    cases: 4,
    does: 'refuses a template that is not sent as XML',
    run: async ({ rest }) => {
      for (const headers of [
        { 'content-type': 'application/json', accept: 'application/json' },
        { 'content-type': 'application/json' },
        { 'content-type': '', accept: 'application/json' },
        { 'content-type': '' },
      ])
        assertStatuses(await rest('POST', TEMPLATES, newTemplate(), { ...headers, ...showing }), 415)
    },
  },
  {
    cases: 5,
    does: 'shows a template as XML, and as a web template to those who accept JSON',
    run: async ({ rest, template }) => {
      for (const headers of [
        { accept: '*/*' },
        { accept: 'application/xml' },
        { 'content-type': 'application/xml' },
      ]) {
        const { status, body } = await rest('GET', pathOf(template), undefined, headers)
        assert.equal(status, 200)
        assert.match(body, /<template/)
      }
      for (const accept of ['application/json', 'application/openehr.wt+json']) {
        const { status, body } = await rest('GET', pathOf(template), undefined, { accept })
        assert.deepEqual([status, body.templateId], [200, template])
      }
    },
  },
  {
    does: 'lists the templates',
    run: async ({ rest, template, otherTemplate }) => {
      const { status, body } = await rest('GET', TEMPLATES)
      assert.equal(status, 200)
      const ids = body.map((one: { template_id: string }) => one.template_id)
      assert.ok(ids.includes(template) && ids.includes(otherTemplate))
    },
  },
  {
    does: 'refuses a second template with the same id',
    run: async ({ rest }) => {
      const template = newTemplate()
      assertStatuses(await rest('POST', TEMPLATES, template, asXml), 201)
      assertStatuses(await rest('POST', TEMPLATES, template, asXml), 409)
    },
  },
  {
    cases: 3,
    does: 'generates example compositions in each format, which it accepts',
    run: async (fixture) => {
      const { rest, template } = fixture
      const json = await rest('GET', pathOf(template, '/example'), undefined, { accept: 'application/json' })
      assert.equal(json.body.archetype_details.template_id.value, template)
      const xml = await rest('GET', pathOf(template, '/example'), undefined, { accept: 'application/xml' })
      assert.ok(xml.body.includes(template))
      const flat = await rest('GET', pathOf(template, '/example'), undefined, { accept: FLAT })
      assert.ok(Object.keys(flat.body).some((key) => key.endsWith('category|code')))
      const ehrId = await createEhr(fixture)
      assertStatuses(await rest('POST', `/ehr/${ehrId}/composition`, json.body), 201)
      assertStatuses(await rest('POST', `/ehr/${ehrId}/composition`, Buffer.from(xml.body), asXml), 201)
    },
  },
]

export const templateArea: ConformanceArea = {
  area: 'TEMPLATE',
  cases: templates,
  deviations: [
    {
      cases: 3,
      does: 'compares the web templates of three published templates with files of the suite',
      because: 'the files show what one server adds to a web template, which no specification says',
    },
  ],
}
