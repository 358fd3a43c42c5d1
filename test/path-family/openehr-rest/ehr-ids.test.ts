import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import {
  fromRestEhrId,
  isReserved,
  toRestEhrId,
} from '../../../path-api/resources/openehr-rest/shared/ehr-ids.ts'
import { isUuid } from '../../../schemas/validation/uuid.ts'
import { createPatient } from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { createRestSystem, showing, withToken } from '../../harness/people/rest-systems.ts'

const DIGITS = [...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz']
const objectId = fc
  .array(fc.constantFrom(...DIGITS), { minLength: 10, maxLength: 10 })
  .map((letters) => letters.join(''))

describe('the EHR ids of the openEHR REST API', () => {
  it('are UUIDs that stand for one id each, in both directions', () => {
    fc.assert(
      fc.property(objectId, (id) => {
        const uuid = toRestEhrId(id)
        assert.ok(isUuid(uuid) && isReserved(uuid), uuid)
        assert.equal(fromRestEhrId(uuid), id)
        assert.equal(fromRestEhrId(uuid.toUpperCase()), id)
      }),
    )
    for (const id of ['0000000000', 'zzzzzzzzzz']) assert.equal(fromRestEhrId(toRestEhrId(id)), id)
  })

  it('are kept as they are if a client chose them', () => {
    fc.assert(
      fc.property(fc.uuid({ version: 4 }), (uuid) => {
        assert.equal(fromRestEhrId(uuid), uuid)
        assert.equal(toRestEhrId(uuid), uuid)
      }),
    )
  })

  it('cannot be chosen from those that stand for other ids', async () => {
    const { rest } = await createRestSystem()
    for (const id of [toRestEhrId('n4Fq2LxT0a'), '6865616c-7468-8ec0-8fff-ffffffffffff'])
      assertStatus(await rest('PUT', `/ehr/${id}`), 400)
  })

  it('are in the response to a user who creates an EHR about another person', async () => {
    const { authToken, mvUid } = await createPatient()
    const rest = withToken(authToken)
    const statusAbout = (value: string) => ({
      _type: 'EHR_STATUS',
      archetype_node_id: 'openEHR-EHR-EHR_STATUS.generic.v1',
      name: { _type: 'DV_TEXT', value: 'EHR Status' },
      subject: {
        _type: 'PARTY_SELF',
        external_ref: {
          _type: 'PARTY_REF',
          id: { _type: 'GENERIC_ID', value, scheme: 'id' },
          namespace: 'hospital',
          type: 'PERSON',
        },
      },
      is_queryable: true,
      is_modifiable: true,
    })
    const chosenId = randomUUID()
    for (const [method, path] of [
      ['POST', '/ehr'],
      ['PUT', `/ehr/${chosenId}`],
    ] as const) {
      const ehr = assertStatus(await rest(method, path, statusAbout(`${method}-${mvUid}`), showing), 201)
      assert.deepEqual(assertStatus(await rest('GET', `/ehr/${ehr.ehr_id.value}`)), ehr)
    }
  })

  it('name the EHRs of all users, in paths, bodies and queries', async () => {
    const patient = await createPatient()
    const { ehrId, mvUid, authToken } = patient
    const rest = withToken(authToken)
    const uuid = toRestEhrId(ehrId)
    const foundEhr = assertStatus(await rest('GET', `/ehr?subject_id=${mvUid}&subject_namespace=hrs.local`))
    assert.equal(foundEhr.ehr_id.value, uuid)
    assert.deepEqual(assertStatus(await rest('GET', `/ehr/${uuid}`)), foundEhr)
    const { owner_id } = assertStatus(await rest('GET', `/ehr/${uuid}/versioned_ehr_status`))
    assert.equal(owner_id.id.value, uuid)

    const ids = 'SELECT e/ehr_id/value, e/ehr_id, e FROM EHR e'
    const runs = [
      { q: ids, ehr_id: uuid },
      { q: `${ids} WHERE e/ehr_id/value = '${uuid}'` },
      { q: `${ids} WHERE e/ehr_id/value = $id`, query_parameters: { id: uuid } },
      { q: `SELECT e/ehr_id/value, e/ehr_id, e FROM EHR e[ehr_id/value='${uuid}']` },
    ]
    for (const run of runs) {
      const { rows } = assertStatus(await rest('POST', '/query/aql', run))
      const [[text, id, ehr]] = rows
      assert.deepEqual([rows.length, text, id.value, ehr.ehr_id.value], [1, uuid, uuid, uuid])
    }
    const link = `/query/aql?q=${encodeURIComponent(ids)}&ehr_id=${uuid}`
    assert.equal(assertStatus(await rest('GET', link)).rows[0][0], uuid)
    const unknown = toRestEhrId('0000000000')
    const asHeader = (id: string) => ({ 'openEHR-EHR-id': id })
    for (const [id, expected] of [
      [uuid, 1],
      [unknown, 0],
    ] as const) {
      const answer = await rest('POST', '/query/aql', { q: ids }, asHeader(id))
      assert.equal(assertStatus(answer).rows.length, expected)
    }
    assertStatus(await rest('GET', link, undefined, asHeader(uuid.toUpperCase())))
    assertStatus(await rest('GET', link, undefined, asHeader(unknown)), 400)
    assertStatus(await rest('GET', link, undefined, asHeader('a b')), 400)
    assertStatus(await rest('GET', `/ehr/${unknown}`), 404)
  })
})
