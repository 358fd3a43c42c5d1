import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readComposition } from '../../../../openehr/compositions/read-composition.ts'
import { readTemplate } from '../../../../openehr/opt/read-template.ts'
import { MAX_VIOLATIONS } from '../../../../openehr/rm/canonical-json.ts'
import { TimeSlice } from '../../../../records/limits/time-slice.ts'
import { createPatient } from '../../../harness/care/patients.ts'
import { assertStatus } from '../../../harness/clients/path-client.ts'
import { createPressureComposition, createTemplateXml, sendXml } from '../../../harness/openehr-samples.ts'
import { createRoleHolder } from '../../../harness/people/people.ts'

/** A composition with many copies of one event. */
function withEvents(template: string, count: number) {
  const composition = createPressureComposition(template, 142)
  const history = composition.content[0]?.data as { events: unknown[] }
  history.events = Array.from({ length: count }, () => history.events[0])
  return composition
}

/** The template of the tests with 100 mandatory elements in place of an optional one. */
function createDemandingTemplateXml(id: string): string {
  const xml = createTemplateXml(id)
  const start = xml.lastIndexOf('<children', xml.indexOf('<node_id>at0005'))
  const end = xml.indexOf('</attributes></children>', start) + '</attributes></children>'.length
  const element = xml.slice(start, end).replace('<lower>0</lower>', '<lower>1</lower>')
  const elements = Array.from({ length: 100 }, (_, i) => element.replace('at0005', `at1${i}`))
  return xml.slice(0, start) + elements.join('') + xml.slice(end)
}

describe('a large composition', () => {
  it('lets others run between any two of its events', async () => {
    class CountingSlice extends TimeSlice {
      count = 0
      override isOver() {
        return true
      }
      override async yieldToOthers() {
        this.count++
      }
    }
    const slice = new CountingSlice()
    const template = readTemplate(Buffer.from(createTemplateXml('Pressure')))
    const events = 50
    const json = withEvents('Pressure', events)
    await readComposition({ json }, async () => ({ template }), new Date(), slice)
    assert.ok(slice.count >= 2 * events, `${slice.count} pauses`)
  })

  it('gets a 422 with the first violations, however many there are', async () => {
    const id = `Demanding ${randomUUID()}`
    const modeller = await createRoleHolder('modeller')
    assertStatus(
      await sendXml(modeller, 'POST', '/med/knowledge/template', createDemandingTemplateXml(id)),
      201,
    )
    const patient = await createPatient()
    const path = `/med/ehr/${patient.ehrId}/composition/json`
    const answer = await patient.call('POST', path, withEvents(id, 1500))
    assertStatus(answer, 422)
    assert.ok(answer.body.errors.length > 0 && answer.body.errors.length <= MAX_VIOLATIONS)
    assert.match(answer.body.errors[0].path, /content\.0\.data\.events\.0\.data\.items$/)
  })
})
