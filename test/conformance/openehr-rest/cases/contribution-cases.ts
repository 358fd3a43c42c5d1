import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { showing } from '../../../harness/people/rest-systems.ts'
import {
  assertStatuses,
  type ConformanceArea,
  type ConformanceCase,
  compositionOf,
  contributionOf,
  createEhr,
  type Fixture,
  folder,
  setStatus,
  subjectStatus,
  versionOf,
} from '../fixture.ts'

/** Commits versions. @returns the answer, and the uids of its versions */
async function commitAll({ rest }: Fixture, ehrId: string, ...versions: object[]) {
  const answer = await rest('POST', `/ehr/${ehrId}/contribution`, contributionOf(...versions), showing)
  const uids: string[] = (answer.body?.versions ?? []).map((one: { id: { value: string } }) => one.id.value)
  return { answer, uids }
}

async function assertCommitted(fixture: Fixture, ehrId: string, ...versions: object[]): Promise<string> {
  const { answer, uids } = await commitAll(fixture, ehrId, ...versions)
  assertStatuses(answer, 201)
  assert.equal(uids.length, versions.length)
  const contribution = await fixture.rest('GET', `/ehr/${ehrId}/contribution/${answer.body.uid.value}`)
  assertStatuses(contribution, 200)
  assert.deepEqual(contribution.body, answer.body)
  assert.equal(answer.etag, `"${answer.body.uid.value}"`)
  return uids[0] ?? ''
}

const contributions: ConformanceCase[] = [
  {
    cases: 3,
    does: 'commits a composition, also to an EHR that is modifiable again',
    run: async (fixture) => {
      const ehrId = await createEhr(fixture)
      const uid = await assertCommitted(fixture, ehrId, versionOf(compositionOf(fixture.template, 142)))
      assertStatuses(await fixture.rest('GET', `/ehr/${ehrId}/composition/${uid}`), 200)
      assertStatuses(await setStatus(fixture, ehrId, { is_modifiable: false }), 200)
      assertStatuses(await setStatus(fixture, ehrId, { is_modifiable: true }), 200)
      await assertCommitted(fixture, ehrId, versionOf(compositionOf(fixture.template, 143)))
    },
  },
  {
    cases: 4,
    does: 'stores nothing if one version is faulty, or there are none or too many',
    run: async (fixture) => {
      const ehrId = await createEhr(fixture)
      const valid = versionOf(compositionOf(fixture.template, 142))
      const { category: _, ...incomplete } = compositionOf(fixture.template, 143) as Record<string, unknown>
      for (const versions of [
        [versionOf(incomplete)],
        [valid, versionOf(incomplete)],
        [valid, versionOf(compositionOf('unknown', 142))],
        [],
        Array(101).fill(valid),
      ])
        assertStatuses((await commitAll(fixture, ehrId, ...versions)).answer, 400)
      const { body } = await fixture.rest('POST', '/query/aql', {
        q: 'SELECT c/uid/value FROM EHR e CONTAINS COMPOSITION c',
        ehr_id: ehrId,
      })
      assert.deepEqual(body.rows, [])
    },
  },
  {
    cases: 2,
    does: 'commits further versions of compositions',
    run: async (fixture) => {
      const ehrId = await createEhr(fixture)
      const uid = await assertCommitted(fixture, ehrId, versionOf(compositionOf(fixture.template, 142)))
      const next = await assertCommitted(
        fixture,
        ehrId,
        versionOf(compositionOf(fixture.template, 150), { preceding: uid }),
      )
      assert.equal(next, uid.replace(/1$/, '2'))
    },
  },
  {
    does: 'deletes a composition',
    run: async (fixture) => {
      const ehrId = await createEhr(fixture)
      const uid = await assertCommitted(fixture, ehrId, versionOf(compositionOf(fixture.template, 142)))
      const change = versionOf(undefined, { preceding: uid, code: '523' })
      const deleted = await assertCommitted(fixture, ehrId, change)
      assertStatuses(await fixture.rest('GET', `/ehr/${ehrId}/composition/${deleted}`), 204)
      const [object] = deleted.split('::')
      const path = `/ehr/${ehrId}/versioned_composition/${object}/version/${deleted}`
      const { body } = await fixture.rest('GET', path)
      assert.equal(body.commit_audit.change_type.value, 'deleted')
      const again = versionOf(undefined, { preceding: deleted, code: '523' })
      const { answer } = await commitAll(fixture, ehrId, again)
      assertStatuses(answer, 400)
      assert.match(JSON.stringify(answer.body), /versions\.0\.preceding_version_uid\.value/)
    },
  },
  {
    cases: 2,
    does: 'refuses a faulty further version, and a creation with a preceding version',
    run: async (fixture) => {
      const ehrId = await createEhr(fixture)
      const composition = compositionOf(fixture.template, 142)
      const preceding = await assertCommitted(fixture, ehrId, versionOf(composition))
      const { category: _, ...incomplete } = composition as Record<string, unknown>
      for (const change of [
        versionOf(incomplete, { preceding }),
        versionOf(composition, { preceding, code: '249' }),
      ])
        assertStatuses((await commitAll(fixture, ehrId, change)).answer, 400)
    },
  },
  {
    does: 'commits a further version of the status',
    run: async (fixture) => {
      const ehrId = await createEhr(fixture)
      const { body } = await fixture.rest('GET', `/ehr/${ehrId}/ehr_status`)
      const change = versionOf({ ...subjectStatus(), subject: {} }, { preceding: body.uid.value })
      const uid = await assertCommitted(fixture, ehrId, change)
      assert.equal((await fixture.rest('GET', `/ehr/${ehrId}/ehr_status`)).body.uid.value, uid)
    },
  },
  {
    cases: 2,
    does: 'creates a directory, and changes it',
    run: async (fixture) => {
      const ehrId = await createEhr(fixture)
      const preceding = await assertCommitted(fixture, ehrId, versionOf(folder()))
      await assertCommitted(fixture, ehrId, versionOf(folder('changed'), { preceding }))
      assert.equal((await fixture.rest('GET', `/ehr/${ehrId}/directory`)).body.name.value, 'changed')
    },
  },
  {
    does: 'refuses changes of an EHR that is not modifiable',
    run: async (fixture) => {
      const ehrId = await createEhr(fixture)
      assertStatuses(await setStatus(fixture, ehrId, { is_modifiable: false }), 200)
      const { answer } = await commitAll(fixture, ehrId, versionOf(compositionOf(fixture.template, 142)))
      assertStatuses(answer, 409)
    },
  },
  {
    cases: 8,
    does: 'shows contributions, and answers 404 for unknown ones',
    run: async (fixture) => {
      const ehrId = await createEhr(fixture)
      const unknown = randomUUID()
      assertStatuses(await fixture.rest('GET', `/ehr/${ehrId}/contribution/${unknown}`), 404)
      await assertCommitted(fixture, ehrId, versionOf(compositionOf(fixture.template, 142)))
      assertStatuses(await fixture.rest('GET', `/ehr/${ehrId}/contribution/${unknown}`), 404)
      assertStatuses(await fixture.rest('GET', `/ehr/${randomUUID()}/contribution/${unknown}`), 404)
      const uid = { _type: 'HIER_OBJECT_ID', value: unknown }
      const sent = { ...contributionOf(versionOf(compositionOf(fixture.template, 143))), uid }
      for (const status of [201, 409])
        assertStatuses(await fixture.rest('POST', `/ehr/${ehrId}/contribution`, sent), status)
    },
  },
]

export const contributionArea: ConformanceArea = {
  area: 'CONTRIBUTION',
  cases: contributions,
  deviations: [],
}
