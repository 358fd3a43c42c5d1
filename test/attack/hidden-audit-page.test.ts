import assert from 'node:assert/strict'
import { createEhrAbout, createPatient, type Patient, readAudit } from '../harness/care/patients.ts'
import { assertStatus } from '../harness/clients/path-client.ts'
import { createPerson, type Person } from '../harness/people/people.ts'
import { request } from '../harness/service/service.ts'

/** Creates newer EHRs about the victim, so that they look for accesses to their record in the wrong one. */
describe('attack: an audit page hidden behind another EHR', () => {
  let victim: Patient
  let snoop: Person
  const ids: string[] = []
  before(async () => {
    ;[victim, snoop] = await Promise.all([createPatient(), createPerson()])
    for (let i = 0; i < 3; i++) ids.push((await createEhrAbout(victim, snoop)).ehrId)
    // One of the EHRs is legitimate.
    assertStatus(await victim.call('POST', `/ehr/${ids[0]}/accept`))
    assert.equal((await snoop.call('GET', `/ehr/${victim.ehrId}/careplan`)).status, 404)
  })

  const pageOf = async (query: string, status = 200): Promise<string> => {
    const headers = { Authorization: `Bearer ${victim.authToken}` }
    return (await request().get(`/ehr/audit${query}`).set(headers).expect(status)).text
  }

  it("shows the victim's own record, and offers those that they agreed to", async () => {
    const text = await pageOf('')
    assert.match(text, /Listed care plans – no access/)
    assert.match(text, new RegExp(`aria-current="page">[^<]*${victim.ehrId}`))
    assert.match(text, new RegExp(`<a href="audit\\?[^"]*ehrId=${ids[0]}`))
    for (const id of ids.slice(1)) assert.ok(!text.includes(id))
  })

  it('shows one of the others on request, and none that the victim did not agree to', async () => {
    assert.match(await pageOf(`?ehrId=${ids[0]}`), new RegExp(`aria-current="page">[^<]*${ids[0]}`))
    assert.ok(!(await pageOf(`?ehrId=${ids[1]}`, 404)).includes(ids[1] ?? ''))
    assert.ok(!(await readAudit(ids[1] ?? '')).includes('query Ehr denied'))
  })
})
