import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { Answer } from '../../../harness/clients/path-client.ts'
import { showing } from '../../../harness/people/rest-systems.ts'
import {
  assertStatuses,
  type ConformanceArea,
  type ConformanceCase,
  createEhr,
  type Fixture,
  folder,
  idOf,
  randomUid,
  setStatus,
  withVersion,
} from '../fixture.ts'

const SPECIAL = 'name-w-ü-ç-%&'

const item = () => ({
  _type: 'OBJECT_REF',
  id: { _type: 'HIER_OBJECT_ID', value: randomUUID() },
  namespace: 'local',
  type: 'VERSIONED_COMPOSITION',
})

/** Folders in folders, with items. */
const tree = () =>
  folder('root', {
    items: [item()],
    folders: [
      folder('emergency', {
        folders: ['x', 'y'].map((one) =>
          folder(`episode_${one}`, { folders: [folder(`summary_${one}`, { items: [item()] })] }),
        ),
      }),
      folder('hospital', { folders: [folder('summary_z')] }),
      folder(SPECIAL),
    ],
  })

const put = ({ rest }: Fixture, ehrId: string, directory: object, uid: string): Promise<Answer> =>
  rest('PUT', `/ehr/${ehrId}/directory`, directory, { 'if-match': uid, ...showing })

/** Creates an EHR with a directory. @returns its path, and the uid of the first version */
async function createDirectory(fixture: Fixture, directory: object = folder()) {
  const ehrId = await createEhr(fixture)
  const path = `/ehr/${ehrId}/directory`
  const answer = await fixture.rest('POST', path, directory, showing)
  assertStatuses(answer, 201)
  const uid: string = answer.body.uid.value
  assert.equal(answer.etag, `"${uid}"`)
  assert.ok(answer.headers.get('location')?.endsWith(uid))
  return { ehrId, path, uid }
}

const changes: ConformanceCase[] = [
  {
    cases: 4,
    does: 'creates one directory of an EHR, and none with the uid of another',
    run: async (fixture) => {
      const { path, uid } = await createDirectory(fixture)
      assertStatuses(await fixture.rest('POST', path, folder()), 409)
      const duplicate = folder('root', { uid: { _type: 'HIER_OBJECT_ID', value: idOf(uid) } })
      const other = `/ehr/${await createEhr(fixture)}/directory`
      assertStatuses(await fixture.rest('POST', other, duplicate), 409)
      assertStatuses(await fixture.rest('POST', `/ehr/${randomUUID()}/directory`, folder()), 404)
    },
  },
  {
    cases: 3,
    does: 'refuses changes of an EHR that is not modifiable',
    run: async (fixture) => {
      const empty = await createEhr(fixture)
      assertStatuses(await setStatus(fixture, empty, { is_modifiable: false }), 200)
      assertStatuses(await fixture.rest('POST', `/ehr/${empty}/directory`, folder()), 409)
      const { ehrId, path, uid } = await createDirectory(fixture)
      assertStatuses(await put(fixture, ehrId, tree(), uid), 200)
      assertStatuses(await setStatus(fixture, ehrId, { is_modifiable: false }), 200)
      const now = { 'if-match': withVersion(uid, 2) }
      assertStatuses(await fixture.rest('PUT', path, folder(), now), 409)
      assertStatuses(await fixture.rest('DELETE', path, undefined, now), 409)
    },
  },
  {
    cases: 3,
    does: 'deletes a directory, not one that is missing',
    run: async (fixture) => {
      const { path, uid } = await createDirectory(fixture, tree())
      const headers = { 'if-match': uid }
      assertStatuses(await fixture.rest('DELETE', path, undefined, headers), 204)
      const empty = `/ehr/${await createEhr(fixture)}/directory`
      assertStatuses(await fixture.rest('DELETE', empty, undefined, headers), 412)
      assertStatuses(await fixture.rest('DELETE', `/ehr/${randomUUID()}/directory`, undefined, headers), 404)
    },
  },
  {
    cases: 3,
    does: 'replaces a directory, not one that is missing',
    run: async (fixture) => {
      const { ehrId, uid } = await createDirectory(fixture)
      const grown = folder('root', { folders: [folder('history', { folders: [folder('family')] })] })
      const { status, body } = await put(fixture, ehrId, grown, uid)
      assert.deepEqual([status, body.uid.value], [200, withVersion(uid, 2)])
      assert.equal(body.folders[0].folders[0].name.value, 'family')
      assertStatuses(await put(fixture, ehrId, tree(), withVersion(uid, 2)), 200)
      assertStatuses(await put(fixture, await createEhr(fixture), tree(), uid), 412)
      assertStatuses(await put(fixture, randomUUID(), tree(), uid), 404)
    },
  },
  {
    cases: 3,
    does: 'compares If-Match with the latest version',
    run: async (fixture) => {
      const { ehrId, uid } = await createDirectory(fixture)
      const expected: [string, number][] = [
        [withVersion(uid, 2), 412],
        [randomUid(), 412],
        ['wrong', 400],
      ]
      for (const [one, status] of expected) {
        const refusal = await put(fixture, ehrId, tree(), one)
        assertStatuses(refusal, status)
        if (status !== 412) continue
        assert.equal(refusal.etag, `"${uid}"`)
        assert.ok(refusal.headers.get('location')?.endsWith(uid))
      }
    },
  },
]

const reads: ConformanceCase[] = [
  {
    cases: 11,
    does: 'shows a directory with its folders and items, and each of its versions',
    run: async (fixture) => {
      const { ehrId, path, uid } = await createDirectory(fixture, tree())
      const firstDirectory = (await fixture.rest('GET', path)).body
      assert.equal(firstDirectory.items.length, 1)
      assertStatuses(await put(fixture, ehrId, { ...tree(), items: firstDirectory.items }, uid), 200)
      const { body } = await fixture.rest('GET', path)
      assert.deepEqual(body.items, firstDirectory.items)
      assert.equal(body.uid.value, withVersion(uid, 2))
      assertStatuses(await put(fixture, ehrId, folder(), withVersion(uid, 2)), 200)
      const last = withVersion(uid, 3)
      assertStatuses(await fixture.rest('DELETE', path, undefined, { 'if-match': last }), 204)
      for (const one of [uid, withVersion(uid, 2), last])
        assert.equal((await fixture.rest('GET', `${path}/${one}`)).body.uid.value, one)
    },
  },
  {
    cases: 8,
    does: 'shows the directory at a time; an empty time means now',
    run: async (fixture) => {
      const { ehrId, path, uid } = await createDirectory(fixture)
      const readAt = (time: string, of = path) =>
        fixture.rest('GET', `${of}?version_at_time=${encodeURIComponent(time)}`)
      const between = new Date().toISOString()
      await new Promise((resolve) => setTimeout(resolve, 5))
      assertStatuses(await put(fixture, ehrId, tree(), uid), 200)
      const now = new Date(Date.now() + 1000).toISOString()
      assert.equal((await readAt(between)).body.uid.value, uid)
      for (const time of [now, '']) assert.equal((await readAt(time)).body.uid.value, withVersion(uid, 2))
      const empty = `/ehr/${await createEhr(fixture)}/directory`
      for (const time of [now, '']) assertStatuses(await readAt(time, empty), 404)
      assertStatuses(await readAt(now, `/ehr/${randomUUID()}/directory`), 404)
    },
  },
  {
    cases: 9,
    does: 'answers 404 for unknown versions, EHRs without a directory, and unknown EHRs',
    run: async (fixture) => {
      const empty = `/ehr/${await createEhr(fixture)}/directory`
      for (const path of [empty, `/ehr/${randomUUID()}/directory`]) {
        assertStatuses(await fixture.rest('GET', path), 404)
        assertStatuses(await fixture.rest('GET', `${path}/${randomUid()}`), 404)
        assertStatuses(await fixture.rest('GET', `${path}/${randomUid()}?path=/root`), 404)
      }
    },
  },
  {
    cases: 12,
    does: 'shows the folder at a path of names',
    run: async (fixture) => {
      const { path, uid } = await createDirectory(fixture, tree())
      const pathOf = (folderPath: string) =>
        fixture.rest('GET', `${path}/${uid}?path=${encodeURIComponent(folderPath)}`)
      const expected: [string, string][] = [
        ['/', 'root'],
        ['/emergency', 'emergency'],
        ['/emergency/episode_x', 'episode_x'],
        ['/emergency/episode_x/summary_x', 'summary_x'],
        ['/emergency/episode_y', 'episode_y'],
        ['/emergency/episode_y/summary_y', 'summary_y'],
        ['/hospital', 'hospital'],
        ['/hospital/summary_z', 'summary_z'],
        [`/${SPECIAL}`, SPECIAL],
      ]
      for (const [folderPath, name] of expected)
        assert.equal((await pathOf(folderPath)).body.name.value, name)
      for (const unknown of ['/unknown', '/emergency/unknown', `/${randomUUID()}`])
        assertStatuses(await pathOf(unknown), 404)
    },
  },
]

export const directoryArea: ConformanceArea = {
  area: 'DIRECTORY',
  cases: [...changes, ...reads],
  deviations: [],
}
