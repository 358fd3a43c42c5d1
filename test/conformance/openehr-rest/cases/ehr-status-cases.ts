import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { asXml } from '../../../harness/people/rest-systems.ts'
import {
  assertStatuses,
  type ConformanceArea,
  type ConformanceCase,
  createEhr,
  type Fixture,
  idOf,
  randomUid,
  setStatus,
  subjectStatus,
  withVersion,
} from '../fixture.ts'

/** An EHR with one or two versions of its status. */
async function createStatus(fixture: Fixture, isChanged = false) {
  const ehrId = await createEhr(fixture, subjectStatus())
  const path = `/ehr/${ehrId}`
  const { etag } = await fixture.rest('GET', `${path}/ehr_status`)
  if (isChanged) assertStatuses(await setStatus(fixture, ehrId, { is_queryable: false }), 200)
  return { path, ehrId, uid: etag.slice(1, -1) }
}

const atTime = (path: string, time: string) =>
  `${path}/versioned_ehr_status/version?version_at_time=${encodeURIComponent(time)}`
const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, -1)

const statuses: ConformanceCase[] = [
  {
    cases: 2,
    does: 'shows the status of an EHR in either format',
    run: async (fixture) => {
      const { path, uid } = await createStatus(fixture)
      const json = await fixture.rest('GET', `${path}/ehr_status`)
      assertStatuses(json, 200)
      assert.equal(json.body.uid.value, uid)
      const xml = await fixture.rest('GET', `${path}/ehr_status`, undefined, { accept: asXml.accept })
      assertStatuses(xml, 200)
      assert.match(xml.body, /<ehr_status .*<is_queryable>true</)
    },
  },
  {
    cases: 5,
    does: 'answers 404 for an unknown EHR',
    run: async ({ rest }) => {
      const path = `/ehr/${randomUUID()}/ehr_status`
      assertStatuses(await rest('GET', path), 404)
      assertStatuses(await rest('PUT', path, subjectStatus(), { 'if-match': randomUid() }), 404)
    },
  },
  {
    cases: 4,
    does: 'sets and clears both switches, and shows them in the latest version',
    run: async (fixture) => {
      const { path, ehrId } = await createStatus(fixture)
      for (const change of [
        { is_queryable: true },
        { is_modifiable: true },
        { is_queryable: false },
        { is_modifiable: false },
      ]) {
        const changed = await setStatus(fixture, ehrId, change)
        assertStatuses(changed, 200)
        const [[name, value]] = Object.entries(change) as [[string, boolean]]
        assert.equal(changed.body[name], value)
        const latest = await fixture.rest('GET', `${path}/versioned_ehr_status/version`)
        assert.deepEqual(latest.body.data, changed.body)
      }
    },
  },
]

const versioned: ConformanceCase[] = [
  {
    cases: 4,
    does: 'shows the versioned object, whose owner is the EHR',
    run: async (fixture) => {
      for (const isChanged of [false, true]) {
        const { path, ehrId, uid } = await createStatus(fixture, isChanged)
        const { status, body } = await fixture.rest('GET', `${path}/versioned_ehr_status`)
        assert.deepEqual([status, body.uid.value, body.owner_id.id.value], [200, idOf(uid), ehrId])
      }
      for (const id of [randomUUID(), 'foobar'])
        assertStatuses(await fixture.rest('GET', `/ehr/${id}/versioned_ehr_status`), 404)
    },
  },
  {
    cases: 4,
    does: 'lists the revisions, oldest first',
    run: async (fixture) => {
      for (const isChanged of [false, true]) {
        const { path, uid } = await createStatus(fixture, isChanged)
        const { status, body } = await fixture.rest('GET', `${path}/versioned_ehr_status/revision_history`)
        assert.equal(status, 200)
        const versionIds = body.items.map((one: { version_id: { value: string } }) => one.version_id.value)
        assert.deepEqual(versionIds, isChanged ? [uid, withVersion(uid, 2)] : [uid])
        const types = body.items.map(
          (one: { audits: { change_type: { value: string } }[] }) => one.audits[0]?.change_type.value,
        )
        assert.deepEqual(types, isChanged ? ['creation', 'modification'] : ['creation'])
        const times = body.items.map((one: { audits: { time_committed: { value: string } }[] }) =>
          Date.parse(one.audits[0]?.time_committed.value ?? ''),
        )
        assert.ok(!isChanged || times[1] >= times[0])
      }
      const unknown = `/ehr/${randomUUID()}/versioned_ehr_status/revision_history`
      assertStatuses(await fixture.rest('GET', unknown), 404)
    },
  },
  {
    cases: 7,
    does: 'shows the latest version with its state, predecessor and data',
    run: async (fixture) => {
      for (const isChanged of [false, true]) {
        const { path, uid } = await createStatus(fixture, isChanged)
        const now = new Date().toISOString().slice(0, -1)
        for (const one of [`${path}/versioned_ehr_status/version`, atTime(path, now)]) {
          const { status, body } = await fixture.rest('GET', one)
          assert.deepEqual([status, body.uid.value], [200, isChanged ? withVersion(uid, 2) : uid])
          assert.equal(body.lifecycle_state.value, 'complete')
          assert.equal(body.preceding_version_uid?.value, isChanged ? uid : undefined)
          assert.equal(body.data.is_queryable, !isChanged)
        }
      }
    },
  },
  {
    cases: 5,
    does: 'selects a version by time: now, in the past, in the future; refuses another form',
    run: async (fixture) => {
      const { path, ehrId, uid } = await createStatus(fixture)
      const { body } = await fixture.rest('GET', `${path}/versioned_ehr_status/version`)
      const firstCommit = body.commit_audit.time_committed.value
      assertStatuses(await setStatus(fixture, ehrId, { is_queryable: false }), 200)
      const former = await fixture.rest('GET', atTime(path, firstCommit))
      assert.deepEqual([former.status, former.body.uid.value], [200, uid])
      assertStatuses(await fixture.rest('GET', atTime(path, inDays(7))), 200)
      assertStatuses(await fixture.rest('GET', atTime(path, inDays(-7))), 404)
      assertStatuses(await fixture.rest('GET', atTime(path, inDays(0).replace('T', ' '))), 400)
      assertStatuses(await fixture.rest('GET', atTime(`/ehr/${randomUUID()}`, inDays(0))), 404)
    },
  },
  {
    cases: 9,
    does: 'shows a version by its uid, and refuses uids that are unknown or malformed',
    run: async (fixture) => {
      const { path, uid } = await createStatus(fixture, true)
      for (const one of [uid, withVersion(uid, 2)]) {
        const { status, body } = await fixture.rest('GET', `${path}/versioned_ehr_status/version/${one}`)
        assert.deepEqual([status, body.uid.value], [200, one])
        assertStatuses(await fixture.rest('GET', `${path}/ehr_status/${one}`), 200)
      }
      const expected: [string, number][] = [
        [withVersion(uid, 3), 404],
        [withVersion(uid, '-2'), 400],
        [withVersion(uid, '2.0'), 400],
        [randomUid(), 404],
        [withVersion(randomUid(), 2), 404],
      ]
      for (const [one, status] of expected)
        assertStatuses(await fixture.rest('GET', `${path}/versioned_ehr_status/version/${one}`), status)
      const unknown = `/ehr/${randomUUID()}/versioned_ehr_status/version/${randomUid()}`
      assertStatuses(await fixture.rest('GET', unknown), 404)
    },
  },
  {
    cases: 6,
    does: 'replaces the version that If-Match names, and no other',
    run: async (fixture) => {
      const { path, uid } = await createStatus(fixture)
      const put = (headers: Record<string, string>) =>
        fixture.rest('PUT', `${path}/ehr_status`, { ...subjectStatus(), subject: {} }, headers)
      const expected: [string, number][] = [
        [withVersion(uid, 2), 412],
        [randomUid(), 412],
        [`${randomUUID()}::another.system::6`, 412],
        [`${idOf(uid)}::8`, 400],
      ]
      for (const [one, status] of expected) {
        const refusal = await put({ 'if-match': one })
        assertStatuses(refusal, status)
        if (status === 412) {
          assert.equal(refusal.etag, `"${uid}"`)
          assert.ok(refusal.headers.get('location'))
        }
      }
      assertStatuses(await put({}), 400)
      assertStatuses(await put({ 'if-match': `"${uid}"` }), 204)
    },
  },
]

export const ehrStatusArea: ConformanceArea = {
  area: 'EHR_STATUS',
  cases: [...statuses, ...versioned],
  deviations: [],
}
