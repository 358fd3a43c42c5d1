import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { toRestEhrId } from '../../../path-api/resources/openehr-rest/shared/ehr-ids.ts'
import {
  assertStatuses,
  commit,
  compositionOf,
  contributionOf,
  createEhr,
  createFixture,
  type Fixture,
  folder,
  idOf,
  subjectStatus,
  update,
  versionOf,
  withVersion,
} from '../../conformance/openehr-rest/fixture.ts'
import { createPatient } from '../../harness/care/patients.ts'
import { call } from '../../harness/clients/path-client.ts'
import { asXml, createRestSystem, requestToken, showing } from '../../harness/people/rest-systems.ts'

describe('a DELETE of the openEHR REST API', () => {
  it('names the latest version, with committal metadata and without', async () => {
    const fixture = await createFixture()
    const { rest } = fixture
    const ehrId = await createEhr(fixture)
    const details = { 'openehr-audit-details': 'description.value="A mistake"' }
    for (const headers of [{}, details]) {
      const firstCommit = await commit(fixture, ehrId)
      const latest = await update(fixture, ehrId, firstCommit)
      const pathOf = (uid: string) => `/ehr/${ehrId}/composition/${uid}`
      const locationOf = (uid: string) => `/openehr/v1${pathOf(uid)}`
      const stale = await rest('DELETE', pathOf(firstCommit), undefined, headers)
      assertStatuses(stale, 409)
      assert.deepEqual([stale.etag, stale.headers.get('location')], [`"${latest}"`, locationOf(latest)])
      const condition = { ...headers, 'if-match': firstCommit }
      assertStatuses(await rest('DELETE', pathOf(latest), undefined, condition), 412)
      const deleted = await rest('DELETE', pathOf(latest), undefined, { ...headers, 'if-match': latest })
      assertStatuses(deleted, 204)
      const last = withVersion(firstCommit, 3)
      assert.deepEqual([deleted.etag, deleted.headers.get('location')], [`"${last}"`, locationOf(last)])
    }
  })
})

describe('a PUT of the openEHR REST API', () => {
  let fixture: Fixture
  before(async () => {
    fixture = await createFixture()
  })

  it('takes what GET shows, in either format, and shows the same again', async () => {
    const { rest } = fixture
    const ehrId = await createEhr(fixture)
    const id = idOf(await commit(fixture, ehrId))
    const directory = folder('root', { folders: [folder('a'), folder('b', { folders: [folder('c')] })] })
    assertStatuses(await rest('POST', `/ehr/${ehrId}/directory`, directory), 201)
    for (const path of [`composition/${id}`, 'ehr_status', 'directory'].map((one) => `/ehr/${ehrId}/${one}`))
      for (const headers of [{}, asXml]) {
        const original = await rest('GET', path, undefined, headers)
        assertStatuses(original, 200)
        const body = headers === asXml ? Buffer.from(original.body) : original.body
        const conditions = { ...headers, ...showing, 'if-match': original.etag }
        const same = await rest('PUT', path, body, conditions)
        assertStatuses(same, 200)
        const withoutVersion = (answer: unknown) =>
          JSON.parse(JSON.stringify(answer).replaceAll(/(::hrs\.local::)\d+/g, '$1'))
        assert.deepEqual(withoutVersion(same.body), withoutVersion(original.body))
      }
  })

  it('answers as the client prefers', async () => {
    const { rest } = fixture
    const ehrId = await createEhr(fixture)
    const path = `/ehr/${ehrId}/directory`
    const answer = await rest('POST', path, folder(), { prefer: 'return=identifier' })
    assertStatuses(answer, 201)
    const uid = answer.etag.slice(1, -1)
    assert.deepEqual(answer.body, { uid })
    assert.equal(answer.headers.get('preference-applied'), 'return=identifier')
    const put = await rest('PUT', path, folder('x'), { 'if-match': `W/"${uid}"`, prefer: 'return=minimal' })
    assert.deepEqual([put.status, put.body], [204, ''])
    assert.ok(put.headers.get('last-modified'))
  })

  it('keeps what the client says about the commit', async () => {
    const { rest, template } = fixture
    const ehrId = await createEhr(fixture)
    const id = idOf(await commit(fixture, ehrId))
    const now = await rest('GET', `/ehr/${ehrId}/composition/${id}`)
    assert.equal(now.body.archetype_details.template_id.value, template)
    const commitHeaders = {
      'openehr-audit-details':
        'change_type.code_string="250",description.value="A correction",committer.name="Anna de Vries"',
      'openehr-version': 'lifecycle_state.code_string="553"',
    }
    const put = (more: object) =>
      rest('PUT', `/ehr/${ehrId}/composition/${id}`, now.body, { 'if-match': now.etag, ...more })
    assertStatuses(await put({ 'openehr-audit-details': 'change_type.code_string="249"' }), 400)
    const { etag } = await put(commitHeaders)
    const path = `/ehr/${ehrId}/versioned_composition/${id}/version/${etag.slice(1, -1)}`
    const { body } = await rest('GET', path)
    const { change_type, description, committer } = body.commit_audit
    assert.deepEqual(
      [change_type.value, description.value, committer.name, body.lifecycle_state.value],
      ['amendment', 'A correction', 'Anna de Vries', 'incomplete'],
    )
    const xml = await rest('GET', path, undefined, asXml)
    // The schema declares the element as the abstract class VERSION.
    assert.match(String(xml.body), /<version [^>]*xsi:type="ORIGINAL_VERSION"/)
    const history = await rest('GET', `/ehr/${ehrId}/versioned_composition/${id}/revision_history`)
    assert.deepEqual(history.body.items[1].audits, [body.commit_audit])
    const contribution = await rest('GET', `/ehr/${ehrId}/contribution/${body.contribution.id.value}`)
    assert.equal(contribution.body.versions[0].id.value, etag.slice(1, -1))
    const byVersion = await rest('GET', `/ehr/${ehrId}/contribution/${id}::2`)
    assert.deepEqual(byVersion.body, contribution.body)
    const committedAt = new Date(body.commit_audit.time_committed.value).toUTCString()
    for (const { headers } of [contribution, history]) assert.equal(headers.get('last-modified'), committedAt)
  })

  it('keeps what the client says about all resources, for AQL, too', async () => {
    const { rest, template } = fixture
    const ehrId = await createEhr(fixture)
    const committer = 'external_ref.id="BC81", external_ref.namespace="demographic"'
    const details = {
      'openEHR-AUDIT_DETAILS.description': 'value="Why"',
      'openEHR-AUDIT_DETAILS.committer': `name="John", ${committer}, external_ref.type="PERSON"`,
      'openEHR-VERSION.lifecycle_state': 'code_string="553"',
    }
    const directory = `/ehr/${ehrId}/directory`
    const composition = `/ehr/${ehrId}/composition`
    const content = compositionOf(template, 150)
    const incomplete = { ...details, 'openEHR-AUDIT_DETAILS.committer': committer }
    assertStatuses(await rest('POST', directory, folder(), incomplete), 400)
    assertStatuses(await rest('POST', directory, undefined, details), 400)
    const replace = async (path: string, { etag }: { etag: string }, body: object) => {
      const answer = await rest('PUT', path, body, { ...details, 'if-match': etag })
      assertStatuses(answer, 200, 204)
      return answer
    }
    const first = await rest('POST', directory, folder(), details)
    assertStatuses(first, 201)
    const second = await replace(directory, first, folder('x'))
    assertStatuses(await rest('PUT', directory, folder(), { ...details, 'if-match': first.etag }), 412)
    assertStatuses(await rest('PUT', directory, undefined, { ...details, 'if-match': second.etag }), 400)
    const status = await rest('GET', `/ehr/${ehrId}/ehr_status`)
    await replace(`/ehr/${ehrId}/ehr_status`, status, status.body)
    assertStatuses(await rest('POST', composition, content, details), 201)

    for (const [type, last] of [
      ['FOLDER', 2],
      ['EHR_STATUS', 2],
      ['COMPOSITION', 1],
    ] as const) {
      const q = `SELECT v FROM EHR e CONTAINS VERSION v[LATEST_VERSION] CONTAINS ${type} o`
      const { rows } = (await rest('POST', '/query/aql', { q, ehr_id: ehrId })).body
      assert.equal(rows.length, 1, type)
      const { uid, commit_audit, lifecycle_state, contribution } = rows[0][0]
      const { name, external_ref } = commit_audit.committer
      assert.equal(uid.value, withVersion(uid.value, last))
      assert.deepEqual(
        [commit_audit.description.value, name, external_ref.id.value, external_ref.namespace],
        ['Why', 'John', 'BC81', 'demographic'],
      )
      assert.equal(lifecycle_state.value, 'incomplete')
      const { body } = await rest('GET', `/ehr/${ehrId}/contribution/${contribution.id.value}`)
      assert.deepEqual([body.versions.length, body.versions[0].id.value], [1, uid.value])
    }
    const { 'openEHR-VERSION.lifecycle_state': _, ...removal } = details
    assertStatuses(await rest('DELETE', directory, undefined, { ...removal, 'if-match': second.etag }), 204)
    assertStatuses(await rest('GET', directory), 204)
  })

  it('keeps what the client says about the status of a new EHR', async () => {
    const { rest } = fixture
    const details = { 'openehr-audit-details': 'description.value="Admission",committer.name="Anna"' }
    const id = randomUUID()
    for (const answer of [
      await rest('POST', '/ehr', subjectStatus(), details),
      await rest('PUT', `/ehr/${id}`, subjectStatus(), details),
    ]) {
      assertStatuses(answer, 201)
      const ehrId = answer.etag.slice(1, -1)
      const { body } = await rest('GET', `/ehr/${ehrId}/versioned_ehr_status/version`)
      const { description, committer, change_type } = body.commit_audit
      assert.deepEqual(
        [description.value, committer.name, change_type.value],
        ['Admission', 'Anna', 'creation'],
      )
      const contribution = await rest('GET', `/ehr/${ehrId}/contribution/${body.contribution.id.value}`)
      assert.deepEqual(contribution.body.audit, body.commit_audit)
    }
    const modification = { 'openehr-audit-details': 'change_type.code_string="251"' }
    assertStatuses(await rest('POST', '/ehr', subjectStatus(), modification), 400)
  })

  it('refuses what a version cannot keep, and the state of a deletion for content', async () => {
    const { rest, template } = fixture
    const ehrId = await createEhr(fixture)
    const details = { 'openehr-audit-details': 'description.value="Too high"' }
    const high = compositionOf(template, 2000)
    assertStatuses(await rest('POST', `/ehr/${ehrId}/composition`, high, details), 422)
    const content = compositionOf(template, 150)
    const version = versionOf(content)
    const deleted = { defining_code: { terminology_id: { value: 'openehr' }, code_string: '523' } }
    for (const more of [
      { signature: 'x' },
      { attestations: [{ _type: 'ATTESTATION' }] },
      { commit_audit: { ...version.commit_audit, system_id: '' } },
      { commit_audit: { ...version.commit_audit, system_id: ['x'] } },
      { commit_audit: { ...version.commit_audit, time_committed: { value: 'yesterday' } } },
      { commit_audit: { ...version.commit_audit, committer: { name: '' } } },
      { lifecycle_state: { ...version.lifecycle_state, ...deleted } },
    ]) {
      const contribution = contributionOf({ ...version, ...more })
      assertStatuses(await rest('POST', `/ehr/${ehrId}/contribution`, contribution), 400)
    }
    const emptyAudit = { ...contributionOf(version), audit: { ...version.commit_audit, system_id: '' } }
    const refused = await rest('POST', `/ehr/${ehrId}/contribution`, emptyAudit)
    assertStatuses(refused, 400)
    assert.deepEqual(
      refused.body.errors.map(({ path }: { path: string }) => path),
      ['body.audit.system_id'],
    )
    const headers = { 'openehr-version': 'lifecycle_state.code_string="523"' }
    assertStatuses(await rest('POST', `/ehr/${ehrId}/composition`, content, headers), 400)
    const contribution = contributionOf({ ...version, attestations: [] })
    assertStatuses(await rest('POST', `/ehr/${ehrId}/contribution`, contribution), 201)
  })

  it('refuses committal metadata that it cannot read, and keeps quotes in texts', async () => {
    const { rest, template } = fixture
    const path = `/ehr/${await createEhr(fixture)}/composition`
    const commitWith = (headers: Record<string, string>) =>
      rest('POST', path, compositionOf(template, 150), headers)
    const audit = 'openehr-audit-details'
    for (const [name, text, place] of [
      [audit, 'garbage', audit],
      [audit, 'change_type.code_string=249', audit],
      [audit, 'description.value="unclosed', audit],
      [audit, 'description.value="a" committer.name="b"', audit],
      [audit, 'description.value="a", bogus.value="b"', `${audit}.bogus.value`],
      [audit, 'change_type.value="deleted"', `${audit}.change_type.value`],
      [audit, 'committer.name="Anna",committer.name="Eva"', `${audit}.committer.name`],
      [audit, `description.value="${'x'.repeat(1001)}"`, `${audit}.description.value`],
      ['openehr-version', 'description.value="a"', 'openehr-version.description.value'],
      ['openehr-version', 'lifecycle_state.code_string="523"', 'openehr-version.lifecycle_state'],
      ['openEHR-VERSION.lifecycle_state', 'value="complete"', 'openehr-version.lifecycle_state.value'],
    ] as const) {
      const refusal = await commitWith({ [name]: text })
      assertStatuses(refusal, 400)
      assert.deepEqual(
        refusal.body.errors.map((one: { path: string }) => one.path),
        [`header.${place}`],
        text,
      )
    }
    const text = String.raw`description.value="He said \"hi, all\", and \\", system_id="x", committer.name="Anna"`
    const { etag } = await commitWith({ [audit]: text })
    const uid = etag.slice(1, -1)
    const version = `${path.replace('composition', 'versioned_composition')}/${idOf(uid)}/version/${uid}`
    const { description, committer } = (await rest('GET', version)).body.commit_audit
    assert.deepEqual([description.value, committer.name], ['He said "hi, all", and \\', 'Anna'])
  })

  it('knows no versions of other systems', async () => {
    const { rest } = fixture
    const ehrId = await createEhr(fixture)
    const uid = await commit(fixture, ehrId)
    assertStatuses(await rest('POST', `/ehr/${ehrId}/directory`, folder()), 201)
    const versionedPath = `versioned_composition/${idOf(uid)}/version`
    for (const [path, versions] of [
      [`composition/${idOf(uid)}`, 'composition'],
      ['ehr_status', 'ehr_status'],
      ['directory', 'directory'],
      [versionedPath, versionedPath],
    ] as const) {
      const shown = await rest('GET', `/ehr/${ehrId}/${path}`)
      assertStatuses(shown, 200)
      const version = shown.etag.slice(1, -1)
      const foreign = version.replace('hrs.local', 'other.system')
      assertStatuses(await rest('GET', `/ehr/${ehrId}/${versions}/${version}`), 200)
      assertStatuses(await rest('GET', `/ehr/${ehrId}/${versions}/${foreign}`), 404)
      if (path === versionedPath) continue
      assertStatuses(await rest('PUT', `/ehr/${ehrId}/${path}`, shown.body, { 'if-match': foreign }), 412)
    }
    const preceding = uid.replace('hrs.local', 'other.system')
    const content = compositionOf(fixture.template, 150)
    const contribution = contributionOf(versionOf(content, { preceding }))
    assertStatuses(await rest('POST', `/ehr/${ehrId}/contribution`, contribution), 409)
  })

  it('leaves the first version of the status to the creator of the EHR and its time', async () => {
    const patient = await createPatient()
    const status = `/openehr/v1/ehr/${toRestEhrId(patient.ehrId)}/ehr_status`
    const shown = await patient.call('GET', status)
    const history = status.replace('ehr_status', 'versioned_ehr_status/revision_history')
    const revisionsOf = async () => (await patient.call('GET', history)).body.items
    const [original] = await revisionsOf()
    assertStatuses(await patient.call('PUT', status, shown.body, { 'if-match': shown.etag }), 204)
    const revisions = await revisionsOf()
    assert.deepEqual([revisions.length, revisions[0]], [2, original])
    const before = await patient.call(
      'GET',
      `${status}?version_at_time=${original.audits[0].time_committed.value}`,
    )
    assert.equal(before.etag, shown.etag)
  })

  it('reads times whose zone has hours only', async () => {
    const { rest } = fixture
    const status = `/ehr/${await createEhr(fixture)}/ehr_status?version_at_time=`
    for (const zone of ['+01', '-05', '+0100', '+01:00', 'Z', '']) {
      const time = (year: number) => encodeURIComponent(`${year}-01-01T00:00:00${zone}`)
      assertStatuses(await rest('GET', status + time(2130)), 200)
      assertStatuses(await rest('GET', status + time(2020)), 404)
    }
    assertStatuses(await rest('GET', `${status}${encodeURIComponent('2030-01-01T00:00:00+25')}`), 400)
  })

  it('is reached below /rest, too, where some clients expect it', async () => {
    const { id, clientSecret } = await createRestSystem()
    const { body } = await requestToken(id, clientSecret)
    const authorization = `Bearer ${body.access_token}`
    const answer = await call('POST', '/rest/openehr/v1/ehr/', undefined, { authorization })
    assertStatuses(answer, 201)
    const unknown = await call('GET', '/rest/openehr/v1/unknown', undefined, { authorization })
    assertStatuses(unknown, 404)
  })
})
