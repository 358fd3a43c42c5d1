import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

const ROOMS = [
  'schemas',
  'records',
  'openehr',
  'fhir',
  'cloud',
  'path-api',
  'server',
  'test',
  'bench',
  'client',
  'console',
  'packages/embedded-mongo',
]
const MAX_FILES = 7
const MAX_NAMESAKES = 2

/**
 * Folders in which all files have the same purpose, so that a new file of this purpose belongs beside them.
 */
const OF_ONE_PURPOSE = [
  'records/measurements/kinds',
  'packages/embedded-mongo/language/expressions/operators',
  'test/attack',
]

const files = ROOMS.flatMap((room) =>
  readdirSync(room, { recursive: true, encoding: 'utf8' })
    .map((path) => join(room, path))
    .filter((path) => /[.]tsx?$/.test(path) && !/(^|\/)(dist|node_modules|[.]build)\//.test(path)),
)

/** The keys of groups with more members than that, with their numbers. */
function larger(keys: readonly string[], most: number): string[] {
  const counts = new Map<string, number>()
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1)
  return [...counts].filter(([, count]) => count > most).map(([key, count]) => `${key}: ${count}`)
}

/** The matching lines in files of a folder, with the names of the files. */
const linesIn = (folder: RegExp, matches: (line: string) => boolean): string[] =>
  files
    .filter((path) => folder.test(path))
    .flatMap((path) =>
      readFileSync(path, 'utf8')
        .split('\n')
        .filter(matches)
        .map((line) => `${path}: ${line.trim()}`),
    )

/** @throws AssertionError that lists what was found, and the remedy */
const assertNone = (offenders: readonly string[], remedy: string): void =>
  assert.ok(offenders.length === 0, `${remedy}:\n${offenders.join('\n')}`)

describe('the folders', () => {
  it(`have at most ${MAX_FILES} files of different purpose`, () => {
    assert.ok(files.length > 400)
    const folders = files.map(dirname).filter((folder) => !OF_ONE_PURPOSE.includes(folder))
    assertNone(larger(folders, MAX_FILES), 'move files that belong together into a folder of their own')
  })

  it('have no file name three times', () => {
    assertNone(
      larger(
        files.map((path) => basename(path)),
        MAX_NAMESAKES,
      ),
      'rename one of the files by what it exports',
    )
  })

  it('keep HTTP out of records and schemas', () => {
    const words =
      /['"`](body|query|params|path)\.|\b(GET|POST|PUT|DELETE) \/|\bsetHeader\b|\b(req|request)\.(body|headers)\b/
    const isCode = (line: string): boolean => !/^\s*(\/?\*|\/\/)/.test(line) && !line.includes('examples:')
    const lines = linesIn(/^(records|openehr|schemas)\//, (line) => words.test(line) && isCode(line))
    assertNone(lines, 'move what knows HTTP to path-api/ or cloud/, and pass values in')
  })

  it('create database clients in one place, which adds what the driver lacks', () => {
    const isNewClient = (line: string): boolean => line.includes('new MongoClient(')
    const [one, ...others] = linesIn(/^(server|records|openehr|cloud|path-api)\//, isNewClient)
    assert.ok(one)
    assertNone(others, 'use the function that creates the first client')
  })

  it('keep no state in modules of records and openehr, which two services in one process would share', () => {
    const state =
      /^(export )?(let|var) |^(export )?const \w+(: (?!Readonly)[^=]+)? = (\[\]$|\{\}$|new (Map|Set|WeakMap|WeakSet)(<.*>)?\(\)|new (LRUCache|AsyncLocalStorage)\b)/
    const lines = linesIn(/^(records|openehr)\//, (line) => state.test(line))
    assertNone(lines, 'keep state in an object that the service creates at its start, such as StoreContext')
  })
})
