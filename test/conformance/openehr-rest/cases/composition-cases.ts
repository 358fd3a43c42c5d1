import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { asXml, showing } from '../../../harness/people/rest-systems.ts'
import {
  assertStatuses,
  type ConformanceArea,
  type ConformanceCase,
  commit,
  compositionOf,
  createEhr,
  type Fixture,
  idOf,
  randomUid,
  setStatus,
  subjectStatus,
  systolicOf,
  update,
  withVersion,
  xmlOf,
} from '../fixture.ts'

/** Programs in both formats. */
const FORMATS = [
  { headers: {}, bytes: (object: object) => object },
  { headers: asXml, bytes: (object: object) => xmlOf(object, 'composition') },
] as const

/** A composition with one version, or two. */
async function createComposition(fixture: Fixture, isChanged = false) {
  const ehrId = await createEhr(fixture)
  const uid = await commit(fixture, ehrId)
  if (isChanged) await update(fixture, ehrId, uid)
  const path = `/ehr/${ehrId}`
  return { ehrId, uid, path, versioned: `${path}/versioned_composition/${idOf(uid)}` }
}

const atTime = (path: string, time: string) => `${path}/version?version_at_time=${encodeURIComponent(time)}`
const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString()

const created: ConformanceCase[] = [
  {
    cases: 6,
    does: 'stores a composition, and shows it as it was sent',
    run: async (fixture) => {
      const ehrId = await createEhr(fixture)
      for (const { headers, bytes } of FORMATS) {
        const composition = compositionOf(fixture.template, 142)
        const answer = await fixture.rest('POST', `/ehr/${ehrId}/composition`, bytes(composition), {
          ...headers,
          ...showing,
        })
        assertStatuses(answer, 201)
        const uid = answer.etag.slice(1, -1)
        assert.ok(answer.headers.get('location')?.endsWith(uid))
        const { uid: versionId, ...rest } = (await fixture.rest('GET', `/ehr/${ehrId}/composition/${uid}`))
          .body
        assert.equal(versionId.value, uid)
        assert.deepEqual(rest, composition)
        if (headers === asXml) assert.ok(answer.body.includes(`<value>${uid}</value>`))
        else assert.equal(answer.body.uid.value, uid)
      }
    },
  },
  {
    cases: 3,
    does: 'keeps times in any zone, and without one',
    run: async (fixture) => {
      const ehrId = await createEhr(fixture)
      for (const zone of ['+02:00', 'Z', '']) {
        const composition = compositionOf(fixture.template, 142) as {
          context: { start_time: { value: string } }
        }
        composition.context.start_time.value = `2026-03-01T08:30:00${zone}`
        const answer = await fixture.rest('POST', `/ehr/${ehrId}/composition`, composition, showing)
        assertStatuses(answer, 201)
        assert.equal(answer.body.context.start_time.value, `2026-03-01T08:30:00${zone}`)
      }
    },
  },
  {
    cases: 4,
    does: 'refuses a composition that violates the reference model',
    run: async (fixture) => {
      const ehrId = await createEhr(fixture)
      const { category: _, ...faulty } = compositionOf(fixture.template, 142) as Record<string, unknown>
      for (const { headers, bytes } of FORMATS)
        assertStatuses(
          await fixture.rest(
            'POST',
            `/ehr/${ehrId}/composition`,
            bytes({ ...faulty, content: 'wrong' }),
            headers,
          ),
          400,
        )
    },
  },
  {
    cases: 2,
    does: 'refuses a composition of an unknown template',
    run: async (fixture) => {
      const ehrId = await createEhr(fixture)
      for (const { headers, bytes } of FORMATS)
        assertStatuses(
          await fixture.rest(
            'POST',
            `/ehr/${ehrId}/composition`,
            bytes(compositionOf('unknown', 142)),
            headers,
          ),
          422,
        )
    },
  },
  {
    cases: 4,
    does: 'answers 404 for an unknown EHR',
    run: async ({ rest, template }) => {
      for (const { headers, bytes } of FORMATS) {
        const body = bytes(compositionOf(template, 142))
        assertStatuses(await rest('POST', `/ehr/${randomUUID()}/composition`, body, headers), 404)
      }
    },
  },
  {
    cases: 4,
    does: 'refuses changes of an EHR that is not modifiable',
    run: async (fixture) => {
      const { ehrId, uid, path } = await createComposition(fixture)
      assertStatuses(await setStatus(fixture, ehrId, { is_modifiable: false }), 200)
      for (const { headers, bytes } of FORMATS) {
        const body = bytes(compositionOf(fixture.template, 142))
        assertStatuses(await fixture.rest('POST', `${path}/composition`, body, headers), 409)
      }
      const put = await fixture.rest(
        'PUT',
        `${path}/composition/${idOf(uid)}`,
        compositionOf(fixture.template, 1),
        {
          'if-match': uid,
        },
      )
      assertStatuses(put, 409)
      assertStatuses(await fixture.rest('DELETE', `${path}/composition/${uid}`), 409)
    },
  },
]

const changed: ConformanceCase[] = [
  {
    cases: 4,
    does: 'replaces a composition in either format',
    run: async (fixture) => {
      for (const { headers, bytes } of FORMATS) {
        const { ehrId, uid } = await createComposition(fixture)
        const put = await fixture.rest(
          'PUT',
          `/ehr/${ehrId}/composition/${idOf(uid)}`,
          bytes(compositionOf(fixture.template, 150)),
          { ...headers, ...showing, 'if-match': uid },
        )
        assertStatuses(put, 200)
        assert.equal(put.etag, `"${withVersion(uid, 2)}"`)
        assert.equal(
          systolicOf((await fixture.rest('GET', `/ehr/${ehrId}/composition/${idOf(uid)}`)).body),
          150,
        )
      }
    },
  },
  {
    does: 'replaces feeder audit and links',
    run: async (fixture) => {
      const ehrId = await createEhr(fixture)
      const details = (meaning: string) => ({
        links: [
          {
            meaning: { _type: 'DV_TEXT', value: meaning },
            type: { _type: 'DV_TEXT', value: 'type' },
            target: { _type: 'DV_EHR_URI', value: `ehr:/${meaning}` },
          },
        ],
        feeder_audit: { originating_system_audit: { system_id: meaning } },
      })
      const composition = compositionOf(fixture.template, 142, details('one'))
      const answer = await fixture.rest('POST', `/ehr/${ehrId}/composition`, composition)
      assertStatuses(answer, 201)
      const uid = answer.etag.slice(1, -1)
      const put = await fixture.rest(
        'PUT',
        `/ehr/${ehrId}/composition/${idOf(uid)}`,
        compositionOf(fixture.template, 142, details('two')),
        { 'if-match': uid, ...showing },
      )
      assertStatuses(put, 200)
      assert.equal(put.body.links[0].target.value, 'ehr:/two')
      assert.equal(put.body.feeder_audit.originating_system_audit.system_id, 'two')
    },
  },
  {
    cases: 4,
    does: 'answers 404 to a change or a deletion of an unknown composition',
    run: async (fixture) => {
      const ehrId = await createEhr(fixture)
      for (const { headers, bytes } of FORMATS) {
        const uid = randomUid()
        const body = bytes(compositionOf(fixture.template, 142))
        const path = `/ehr/${ehrId}/composition/${idOf(uid)}`
        assertStatuses(await fixture.rest('PUT', path, body, { ...headers, 'if-match': uid }), 404)
        assertStatuses(await fixture.rest('DELETE', `/ehr/${ehrId}/composition/${uid}`), 404)
      }
    },
  },
  {
    cases: 5,
    does: 'deletes a composition, and shows the deletion as a version',
    run: async (fixture) => {
      const { ehrId, uid, versioned } = await createComposition(fixture, true)
      const last = withVersion(uid, 2)
      const audits: string[] = []
      const note = async () => {
        const { commit_audit } = (await fixture.rest('GET', `${versioned}/version`)).body
        audits.push(commit_audit.change_type.value)
      }
      await note()
      assertStatuses(await fixture.rest('DELETE', `/ehr/${ehrId}/composition/${last}`), 204)
      await note()
      assert.deepEqual(audits, ['modification', 'deleted'])
      const deleted = `/ehr/${ehrId}/composition/${withVersion(uid, 3)}`
      assertStatuses(await fixture.rest('DELETE', deleted), 400)
      assertStatuses(await fixture.rest('GET', `/ehr/${ehrId}/composition/${idOf(uid)}`), 204)
    },
  },
]

const read: ConformanceCase[] = [
  {
    cases: 9,
    does: 'shows a composition by its uid, and each version of it',
    run: async (fixture) => {
      const { path, uid } = await createComposition(fixture, true)
      for (const accept of ['application/json', 'application/xml', '*/*'])
        for (const [one, systolic] of [
          [uid, 142],
          [withVersion(uid, 2), 150],
          [idOf(uid), 150],
        ] as const) {
          const composition = await fixture.rest('GET', `${path}/composition/${one}`, undefined, { accept })
          assertStatuses(composition, 200)
          if (accept === 'application/xml') assert.ok(composition.body.includes(`<magnitude>${systolic}<`))
          else assert.equal(systolicOf(composition.body), systolic)
        }
    },
  },
  {
    cases: 16,
    does: 'answers 404 for an unknown composition, version, time or EHR',
    run: async (fixture) => {
      const ehrId = await createEhr(fixture)
      const uid = randomUid()
      const time = inDays(0)
      for (const headers of [{}, { accept: asXml.accept }])
        for (const path of [`/ehr/${ehrId}`, `/ehr/${randomUUID()}`])
          for (const one of [
            `composition/${uid}`,
            `composition/${idOf(uid)}`,
            `versioned_composition/${idOf(uid)}`,
            `versioned_composition/${idOf(uid)}/version`,
            atTime(`versioned_composition/${idOf(uid)}`, time),
          ])
            assertStatuses(await fixture.rest('GET', `${path}/${one}`, undefined, headers), 404)
    },
  },
  {
    cases: 6,
    does: 'selects versions by time, also before the first one',
    run: async (fixture) => {
      const { ehrId, uid, versioned } = await createComposition(fixture)
      const [firstRevision] = (await fixture.rest('GET', `${versioned}/revision_history`)).body.items
      const committedAt = firstRevision.audits[0].time_committed.value
      await update(fixture, ehrId, uid)
      for (const headers of [{}, { accept: asXml.accept }]) {
        assertStatuses(await fixture.rest('GET', atTime(versioned, inDays(-1)), undefined, headers), 404)
        for (const [time, of] of [
          [committedAt, uid],
          [inDays(0), withVersion(uid, 2)],
        ]) {
          const version = await fixture.rest('GET', atTime(versioned, time), undefined, headers)
          assertStatuses(version, 200)
          assert.equal(version.etag, `"${of}"`)
        }
      }
    },
  },
]

const versions: ConformanceCase[] = [
  {
    cases: 12,
    does: 'shows the versioned object, whose owner is the EHR',
    run: async (fixture) => {
      for (const isChanged of [false, true]) {
        const { ehrId, uid, versioned } = await createComposition(fixture, isChanged)
        const { status, body } = await fixture.rest('GET', versioned)
        assert.deepEqual([status, body.uid.value, body.owner_id.id.value], [200, idOf(uid), ehrId])
        const xml = await fixture.rest('GET', versioned, undefined, { accept: asXml.accept })
        assert.match(xml.body, new RegExp(`<uid><value>${idOf(uid)}<.*<owner_id.*${ehrId}`))
        for (const id of [randomUUID(), 'foobar']) {
          assertStatuses(await fixture.rest('GET', `/ehr/${id}/versioned_composition/${idOf(uid)}`), 404)
          assertStatuses(await fixture.rest('GET', `/ehr/${ehrId}/versioned_composition/${id}`), 404)
        }
      }
    },
  },
  {
    cases: 4,
    does: 'lists the revisions with times in a zone',
    run: async (fixture) => {
      const { ehrId, uid, versioned } = await createComposition(fixture)
      const { status, body } = await fixture.rest('GET', `${versioned}/revision_history`)
      assert.deepEqual([status, body.items.length, body.items[0].version_id.value], [200, 1, uid])
      assert.match(body.items[0].audits[0].time_committed.value, /(Z|[+-]\d\d:\d\d)$/)
      for (const path of [
        `/ehr/${randomUUID()}/versioned_composition/${idOf(uid)}`,
        `/ehr/${ehrId}/versioned_composition/${randomUUID()}`,
      ])
        assertStatuses(await fixture.rest('GET', `${path}/revision_history`), 404)
    },
  },
  {
    cases: 13,
    does: 'shows a version at a time with its state, predecessor and data',
    run: async (fixture) => {
      const { ehrId, uid, versioned } = await createComposition(fixture)
      const firstVersion = (await fixture.rest('GET', `${versioned}/version`)).body
      assert.deepEqual(
        [firstVersion.uid.value, firstVersion.lifecycle_state.value, firstVersion.preceding_version_uid],
        [uid, 'complete', undefined],
      )
      assert.ok(firstVersion.contribution.id.value)
      await update(fixture, ehrId, uid)
      for (const path of [
        `${versioned}/version`,
        atTime(versioned, inDays(0)),
        atTime(versioned, inDays(7)),
      ]) {
        const { body } = await fixture.rest('GET', path)
        assert.deepEqual([body.uid.value, body.preceding_version_uid.value], [withVersion(uid, 2), uid])
        assert.equal(systolicOf(body.data), 150)
      }
      const former = await fixture.rest(
        'GET',
        atTime(versioned, firstVersion.commit_audit.time_committed.value),
      )
      assert.equal(former.body.uid.value, uid)
      assertStatuses(await fixture.rest('GET', atTime(versioned, inDays(-7))), 404)
      assertStatuses(await fixture.rest('GET', atTime(versioned, inDays(0).replace('T', ' '))), 400)
      for (const path of [
        `/ehr/${randomUUID()}/versioned_composition/${idOf(uid)}`,
        `/ehr/${ehrId}/versioned_composition/${randomUUID()}`,
      ])
        assertStatuses(await fixture.rest('GET', `${path}/version`), 404)
    },
  },
  {
    cases: 10,
    does: 'shows a version by its uid, and refuses uids that are unknown, malformed or of another object',
    run: async (fixture) => {
      const { path, uid, versioned } = await createComposition(fixture, true)
      for (const one of [uid, withVersion(uid, 2)]) {
        const { status, body } = await fixture.rest('GET', `${versioned}/version/${one}`)
        assert.deepEqual([status, body.uid.value], [200, one])
      }
      const expected: [string, number][] = [
        [withVersion(uid, 3), 404],
        [withVersion(uid, '-2'), 400],
        [withVersion(uid, '2.0'), 400],
        [randomUid(), 400],
        [withVersion(randomUid(), 2), 400],
      ]
      for (const [one, status] of expected)
        assertStatuses(await fixture.rest('GET', `${versioned}/version/${one}`), status)
      const unknown = `${path}/versioned_composition/${randomUUID()}/version/${uid}`
      assertStatuses(await fixture.rest('GET', unknown), 404)
      const other = `/ehr/${randomUUID()}/versioned_composition/${idOf(uid)}/version/${uid}`
      assertStatuses(await fixture.rest('GET', other), 404)
    },
  },
  {
    cases: 0,
    does: 'creates an EHR about a subject in another namespace, which no user becomes',
    run: async (fixture) => {
      const ehrId = await createEhr(fixture, subjectStatus('n4Fq2LxT0a'))
      const { body } = await fixture.rest('GET', `/ehr/${ehrId}/ehr_status`)
      assert.equal(body.subject.external_ref.id.value, 'n4Fq2LxT0a')
      assert.equal(body.subject.external_ref.namespace, 'patients')
    },
  },
]

export const compositionArea: ConformanceArea = {
  area: 'COMPOSITION',
  cases: [...created, ...changed, ...read, ...versions],
  deviations: [
    {
      cases: 2,
      does: 'list the revisions of a composition newest first',
      because: 'The reference model orders them "most recent last", and the suite does so for EHR_STATUS.',
    },
    {
      cases: 2,
      does: 'refuse a change of the template with 400',
      because: 'It is a violation of a rule, which is a 422 here as for any violated template.',
    },
  ],
}
