import assert from 'node:assert/strict'
import {
  assertStatuses,
  commit,
  createEhr,
  createFixture,
  idOf,
} from '../../conformance/openehr-rest/fixture.ts'
import { recordCommands } from '../../harness/service/database-commands.ts'

describe('a GET of the openEHR REST API for a composition that the client has', () => {
  it('gets a 304 without reading the content, until there is another version', async () => {
    const fixture = await createFixture()
    const { rest } = fixture
    const ehrId = await createEhr(fixture)
    const path = `/ehr/${ehrId}/composition/${idOf(await commit(fixture, ehrId))}`
    const { body, etag } = await rest('GET', path)
    const isKnown = { 'if-none-match': etag }
    const commands = await recordCommands(async () => {
      assertStatuses(await rest('GET', path, undefined, isKnown), 304)
    }, /^openehr\.compositions$/)
    const reads = commands.filter(({ find }) => find === 'openehr.compositions')
    assert.ok(reads.length > 0 && reads.every(({ projection }) => projection?.json === 0))
    assertStatuses(await rest('PUT', path, body, { 'if-match': etag }), 200, 204)
    assertStatuses(await rest('GET', path, undefined, isKnown), 200)
  })
})

describe('a GET of the openEHR REST API for an EHR that the client has', () => {
  it('gets the EHR again, since its ETag is the same with another status', async () => {
    const fixture = await createFixture()
    const { rest } = fixture
    const ehrId = await createEhr(fixture)
    const path = `/ehr/${ehrId}`
    const { etag, body } = await rest('GET', path)
    const { body: status, etag: statusEtag } = await rest('GET', `${path}/ehr_status`)
    const changed = { ...status, is_queryable: !status.is_queryable }
    assertStatuses(await rest('PUT', `${path}/ehr_status`, changed, { 'if-match': statusEtag }), 200, 204)
    const again = await rest('GET', path, undefined, { 'if-none-match': etag })
    assertStatuses(again, 200)
    assert.equal(again.etag, etag)
    assert.notDeepEqual(again.body.ehr_status, body.ehr_status)
  })
})
