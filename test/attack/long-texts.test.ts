import assert from 'node:assert/strict'
import { parseSearchQuery } from '../../fhir/requests/bundle-entries.ts'
import { toRestEhrId } from '../../path-api/resources/openehr-rest/shared/ehr-ids.ts'
import { bloodPressureOf, callFhir, issuesIn } from '../fhir/fhir-client.ts'
import { createPlanInOwnEhr } from '../harness/care/by-class-family.ts'
import { createClassClient } from '../harness/clients/class-client.ts'
import { type Answer, assertStatus } from '../harness/clients/path-client.ts'
import { createPressureComposition, getStoredTemplate } from '../harness/openehr-samples.ts'
import { createPerson, type Person } from '../harness/people/people.ts'

/** Texts so long that work in the square of their length would take many minutes. */
const LENGTH = 800_000

const expectRefusal = async (answer: Promise<{ status: number }>) => {
  const { status } = await answer
  assert.ok(status === 400 || status === 422, `${status}`)
}

describe('attack: long texts', function suite() {
  this.timeout(30_000)
  let person: Person
  let ehrId: string
  let template: string
  before(async () => {
    person = await createPerson()
    ;({ ehrId } = await createPlanInOwnEhr(person))
    template = await getStoredTemplate()
  })

  const compositions = () => `/med/ehr/${ehrId}/composition/json?templateId=${template}`

  it('are refused in a Subscription and an Observation', async () => {
    const subscription = { resourceType: 'Subscription', end: 'T'.repeat(LENGTH) }
    await expectRefusal(callFhir(person, 'POST', 'Subscription', subscription))
    const observation = { resourceType: 'Observation', ['.where('.repeat(LENGTH / 8)]: 1 }
    await expectRefusal(callFhir(person, 'POST', 'Observation', observation))
  })

  it('are refused as classes and data of a composition', async () => {
    for (const name of [
      { _type: `${'<'.repeat(LENGTH)}\n` },
      { _type: 'DV_MULTIMEDIA', data: `${' '.repeat(LENGTH)}!` },
    ]) {
      const body = createPressureComposition(template, 120, { name })
      await expectRefusal(person.call('POST', compositions(), body))
    }
  })

  it('are refused as addresses in a Bundle', async () => {
    const long = 'a&'.repeat(LENGTH / 4)
    for (const [name, request] of [
      ['url', { method: 'GET', url: `Observation?${long}` }],
      ['ifNoneExist', { method: 'GET', url: 'Observation', ifNoneExist: long }],
    ] as const) {
      const bundle = { resourceType: 'Bundle', type: 'transaction', entry: [{ request }] }
      const refusal = await callFhir(person, 'POST', '', bundle)
      assert.equal(refusal.status, 400)
      assert.match(issuesIn(refusal).join(), new RegExp(`Bundle.entry\\[0\\].request.${name}`))
    }
    assert.equal(parseSearchQuery(long).a?.length, LENGTH / 4)
  })

  it('are cut in messages that repeat names and values', async () => {
    const name = 'n'.repeat(LENGTH)
    const observation = bloodPressureOf(ehrId, { [name]: 1 })
    const lenient = { prefer: 'handling=lenient, return=OperationOutcome' }
    const classes = createClassClient(person)
    const composition = createPressureComposition(template, 120, { [name]: 1 })
    const flat = { 'content-type': 'application/openehr.wt.flat+json' }
    const answers: Pick<Answer, 'status' | 'body'>[] = [
      await person.call('PUT', `/profile/${person.mvUid}`, { [name]: 1 }),
      await person.call('PUT', `/profile/${person.mvUid}`, { name: { [name]: 1 } }),
      await person.call('POST', compositions(), composition),
      await person.call('POST', compositions(), { [`a/${name}`]: 1 }, flat),
      await person.call('POST', '/med/aql', { q: 'SELECT e FROM EHR e', query_parameters: { [name]: {} } }),
      await person.call('POST', '/med/aql', { q: `SELECT ${name.slice(0, 60_000)} FROM EHR e` }),
      await person.call('POST', `/openehr/v1/ehr/${toRestEhrId(ehrId)}/composition`, composition),
      await person.call('POST', `/openehr/v1/ehr/${toRestEhrId(ehrId)}/contribution`, { [name]: 1 }),
      await person.call('POST', '/openehr/v1/ehr', { _type: 'EHR_STATUS', [name]: 1 }),
      await callFhir(person, 'POST', 'Observation', observation),
      await callFhir(person, 'POST', 'Observation', observation, lenient),
      await callFhir(person, 'POST', name, {}),
    ]
    for (const one of [
      classes.post('CarePlan', { ehrId, name: 'x', [name]: 1 }),
      classes.post('CarePlan', { ehrId, name: 'x', [`a.${name}`]: { __op: name } }),
      classes.list('CarePlan', { [name.slice(0, 8000)]: 1 }),
    ]) {
      const { status, body } = await one
      answers.push({ status, body })
    }
    for (const [i, { status, body }] of answers.entries()) {
      assert.ok(status < 500, `${i}: ${status}`)
      assert.ok(JSON.stringify(body).length < 30_000, `${i}: ${JSON.stringify(body).length}`)
    }
  })

  it('make few nodes of a composition in the flat format', async () => {
    const lines = Array.from({ length: 600 }, (_, i) => [`a${i}${'/a'.repeat(199)}`, 1])
    const body = Buffer.from(JSON.stringify(Object.fromEntries(lines)))
    const refusal = await person.call('POST', compositions(), body, {
      'content-type': 'application/openehr.wt.flat+json',
    })
    assert.equal(refusal.status, 400)
    assert.ok(refusal.body.errors[0].path === `body.${lines[500]?.[0]}`)
    assertStatus(await person.call('GET', '/auth/sessions'), 200)
  })
})
