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
