import assert from 'node:assert/strict'
import { assertStatuses, commit, createEhr, createFixture } from '../../conformance/openehr-rest/fixture.ts'

describe('a RESULT_SET of the openEHR REST API', () => {
  it('has an ETag, which changes with its rows', async () => {
    const fixture = await createFixture()
    const ehrId = await createEhr(fixture)
    await commit(fixture, ehrId)
    const q = 'SELECT c/uid/value AS uid FROM EHR e CONTAINS COMPOSITION c'
    const link = `/query/aql?ehr_id=${ehrId}&q=${encodeURIComponent(q)}`
    const first = await fixture.rest('GET', link)
    assertStatuses(first, 200)
    const sent = await fixture.rest('POST', '/query/aql', { q, ehr_id: ehrId })
    assert.match(first.etag, /^"[\w-]{22}"$/)
    assert.equal(sent.etag, first.etag)
    const condition = { 'if-none-match': first.etag }
    assert.equal((await fixture.rest('GET', link, undefined, condition)).status, 304)
    await commit(fixture, ehrId, 150)
    const second = await fixture.rest('GET', link, undefined, condition)
    assertStatuses(second, 200)
    assert.notEqual(second.etag, first.etag)
  })
})
