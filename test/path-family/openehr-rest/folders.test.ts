import assert from 'node:assert/strict'
import { withFolderUids } from '../../../openehr/directories/folders.ts'
import {
  assertStatuses,
  commit,
  createEhr,
  createFixture,
  type Fixture,
  folder,
  idOf,
  withVersion,
} from '../../conformance/openehr-rest/fixture.ts'
import { createRestSystem } from '../../harness/people/rest-systems.ts'

const referTo = (uid: string) => ({
  _type: 'OBJECT_REF',
  id: { _type: 'HIER_OBJECT_ID', value: idOf(uid) },
  namespace: 'local',
  type: 'VERSIONED_COMPOSITION',
})

describe('FOLDER in AQL', () => {
  let fixture: Fixture
  let ehrId: string
  let uids: string[]
  const rowsOf = async (q: string) => {
    const answer = await fixture.rest('POST', '/query/aql', { q, ehr_id: ehrId })
    assertStatuses(answer, 200)
    return answer.body.rows
  }

  /** The first composition is in two folders, the second in one, the third in none. */
  before(async () => {
    fixture = await createFixture()
    ehrId = await createEhr(fixture)
    uids = []
    for (const systolic of [120, 130, 140]) uids.push(await commit(fixture, ehrId, systolic))
    const [one = '', two = ''] = uids
    const directory = folder('root', {
      folders: [
        folder('episodes', { items: [referTo(one)], folders: [folder('ward', { items: [referTo(two)] })] }),
        folder('letters', { items: [referTo(one)] }),
      ],
    })
    assertStatuses(await fixture.rest('POST', `/ehr/${ehrId}/directory`, directory), 201)
  })

  it('finds folders by name, in other folders', async () => {
    const names = await rowsOf('SELECT f/name/value FROM EHR e CONTAINS FOLDER f ORDER BY f/name/value')
    assert.deepEqual(names, [['episodes'], ['letters'], ['root'], ['ward']])
    const inner = await rowsOf(
      "SELECT g/name/value FROM EHR e CONTAINS FOLDER f[openEHR-EHR-FOLDER.generic.v1, 'episodes'] CONTAINS FOLDER g",
    )
    assert.deepEqual(inner, [['ward']])
  })

  it('finds the compositions to which a folder and its folders refer', async () => {
    const [one, two] = uids
    const folderOf = (name: string) =>
      rowsOf(
        `SELECT c/uid/value FROM EHR e CONTAINS FOLDER f CONTAINS COMPOSITION c WHERE f/name/value = '${name}' ORDER BY c/uid/value`,
      )
    assert.deepEqual(await folderOf('ward'), [[two]])
    assert.deepEqual(await folderOf('letters'), [[one]])
    assert.deepEqual(
      await folderOf('episodes'),
      [one, two].sort().map((uid) => [uid]),
    )
    const values = await rowsOf(
      "SELECT o/data/events/data/items/value/magnitude FROM EHR e CONTAINS FOLDER f[name/value='ward'] CONTAINS COMPOSITION c CONTAINS OBSERVATION o WHERE o/data/events/data/items/value/magnitude > 125",
    )
    assert.ok(
      values.some(([value]: [number]) => value === 130),
      JSON.stringify(values),
    )
  })

  it('finds each composition once beside folders, and those in no folder', async () => {
    const rows = await rowsOf(
      "SELECT c/uid/value FROM EHR e CONTAINS (FOLDER f[name/value='root'] AND COMPOSITION c)",
    )
    assert.equal(rows.length, 3)
    const [count] = await rowsOf('SELECT COUNT(*) FROM EHR e CONTAINS COMPOSITION c')
    assert.deepEqual(count, [3])
    const without = await rowsOf(
      'SELECT f/name/value FROM EHR e CONTAINS FOLDER f NOT CONTAINS COMPOSITION c',
    )
    assert.deepEqual(without, [])
  })

  it('finds the latest version of the directory, and all of them as VERSION', async () => {
    const { body } = await fixture.rest('GET', `/ehr/${ehrId}/directory`)
    const uid: string = body.uid.value
    const put = await fixture.rest('PUT', `/ehr/${ehrId}/directory`, folder('other'), { 'if-match': uid })
    assertStatuses(put, 204)
    assert.deepEqual(await rowsOf('SELECT f/name/value FROM EHR e CONTAINS FOLDER f'), [['other']])
    const versions = await rowsOf(
      "SELECT v/uid/value FROM EHR e CONTAINS VERSION v[ALL_VERSIONS] CONTAINS FOLDER f WHERE f/name/value MATCHES {'root', 'other'} ORDER BY v/uid/value",
    )
    assert.deepEqual(versions, [[uid], [withVersion(uid, 2)]])
  })

  it('finds nothing for others', async () => {
    const { rest } = await createRestSystem()
    const q = 'SELECT f/name/value FROM FOLDER f'
    assert.deepEqual((await rest('POST', '/query/aql', { q })).body.rows, [])
  })
})

describe('the uids of folders', () => {
  it('are found by reading each name once', () => {
    let reads = 0
    const sibling = (name: string) => ({
      _type: 'FOLDER',
      get name() {
        reads++
        return { value: name }
      },
    })
    const siblings = Array.from({ length: 1000 }, (_, i) => sibling(`${i % 10}`))
    const { folders } = withFolderUids({ _type: 'FOLDER', folders: siblings }, 'seed')
    const uids = (folders as { uid: { value: string } }[]).map(({ uid }) => uid.value)
    assert.equal(new Set(uids).size, siblings.length)
    assert.ok(reads < 5 * siblings.length, `${reads} reads`)
  })
})
