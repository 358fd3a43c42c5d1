import assert from 'node:assert/strict'
import { auditOf, newEhrAbout, newPatient, type Patient } from '../harness/care/patients.ts'
import { ok } from '../harness/clients/path-client.ts'
import { newPerson, type Person } from '../harness/people/people.ts'
import { request } from '../harness/service/service.ts'

/** Makes newer EHRs about somebody, so that they look for who read theirs in the wrong one. */
describe('attack: an audit page hidden behind another EHR', () => {
  let victim: Patient
  let snoop: Person
  const ids: string[] = []
  before(async () => {
    ;[victim, snoop] = await Promise.all([newPatient(), newPerson()])
    for (let i = 0; i < 3; i++) ids.push((await newEhrAbout(victim, snoop)).ehrId)
    // One of them in good faith.
    ok(await victim.call('POST', `/ehr/${ids[0]}/accept`))
    assert.equal((await snoop.call('GET', `/ehr/${victim.ehrId}/careplan`)).status, 404)
  })

  const pageOf = async (query: string): Promise<string> => {
    const headers = { Authorization: `Bearer ${victim.authToken}` }
    return (await request().get(`/ehr/audit${query}`).set(headers).expect(200)).text
  }

  it('shows their own record, and offers those that they agreed to', async () => {
    const text = await pageOf('')
    assert.match(text, /looked at – without success/)
    assert.match(text, new RegExp(`aria-current="page">[^<]*${victim.ehrId}`))
    assert.match(text, new RegExp(`<a href="audit\\?[^"]*ehrId=${ids[0]}`))
    for (const id of ids.slice(1)) assert.ok(!text.includes(id))
  })

  it('shows one of the others when it is asked for, and none that they did not agree to', async () => {
    assert.match(await pageOf(`?ehrId=${ids[0]}`), new RegExp(`aria-current="page">[^<]*${ids[0]}`))
    assert.match(await pageOf(`?ehrId=${ids[1]}`), new RegExp(`aria-current="page">[^<]*${victim.ehrId}`))
    assert.ok(!(await auditOf(ids[1] ?? '')).includes('query Ehr denied'))
  })
})
