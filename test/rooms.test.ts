import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

const ROOMS = [
  'schemas',
  'records',
  'cloud',
  'path-api',
  'server',
  'test',
  'bench',
  'packages/embedded-mongo',
]
const MOST_FILES = 7
const MOST_NAMESAKES = 2

/** Folders whose files are all of one purpose: the next one is beside them because it is another of these. */
const OF_ONE_PURPOSE = [
  'schemas',
  'path-api/resources',
  'records/measurements/kinds',
  'packages/embedded-mongo/language/expressions/operators',
  'test/attack',
]

const files = ROOMS.flatMap((room) =>
  readdirSync(room, { recursive: true, encoding: 'utf8' })
    .map((path) => join(room, path))
    .filter((path) => path.endsWith('.ts') && !/(^|\/)(dist|node_modules)\//.test(path)),
)

/** The keys of groups that have more members than that, with how many. */
function larger(keys: readonly string[], most: number): string[] {
  const counts = new Map<string, number>()
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1)
  return [...counts].filter(([, count]) => count > most).map(([key, count]) => `${key}: ${count}`)
}

/** The lines of files below a folder that match, with their files. */
const linesIn = (folder: RegExp, matches: (line: string) => boolean): string[] =>
  files
    .filter((path) => folder.test(path))
    .flatMap((path) =>
      readFileSync(path, 'utf8')
        .split('\n')
        .filter(matches)
        .map((line) => `${path}: ${line.trim()}`),
    )

describe('the rooms of the house', () => {
  it(`have at most ${MOST_FILES} files of different purpose beside each other`, () => {
    assert.ok(files.length > 400)
    const folders = files.map(dirname).filter((folder) => !OF_ONE_PURPOSE.includes(folder))
    assert.deepEqual(larger(folders, MOST_FILES), [])
  })

  it('have no name of a file three times', () => {
    assert.deepEqual(
      larger(
        files.map((path) => basename(path)),
        MOST_NAMESAKES,
      ),
      [],
    )
  })

  it('keep HTTP out of the records and of what they look like', () => {
    const words =
      /['"`](body|query|params|path)\.|\b(GET|POST|PUT|DELETE) \/|\bsetHeader\b|\breq(uest)?\.(body|headers)\b/
    const isCode = (line: string): boolean => !/^\s*(\/?\*|\/\/)/.test(line) && !line.includes('examples:')
    assert.deepEqual(
      linesIn(/^(records|schemas)\//, (line) => words.test(line) && isCode(line)),
      [],
    )
  })

  it('make clients of the database in one place, where each gets what the driver lacks', () => {
    assert.deepEqual(
      linesIn(/^(server|records|cloud|path-api)\//, (line) => line.includes('new MongoClient(')).length,
      1,
    )
  })

  it('keep no state in the modules of the records: two services in one process would share it', () => {
    const state =
      /^(export )?(let|var) |^(export )?const \w+(: (?!Readonly)[^=]+)? = (\[\]$|\{\}$|new (Map|Set|WeakMap|WeakSet)(<.*>)?\(\)|new (LRUCache|AsyncLocalStorage)\b)/
    assert.deepEqual(
      linesIn(/^records\//, (line) => state.test(line)),
      [],
    )
  })
})
