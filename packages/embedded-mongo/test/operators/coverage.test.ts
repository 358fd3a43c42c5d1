import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { accumulatorNames } from '../../language/aggregation/group.ts'
import { stageNames } from '../../language/aggregation/pipeline.ts'
import { operators } from '../../language/expressions/operators/operator-table.ts'
import { documentOperators, fieldOperators } from '../../language/filters/matcher.ts'
import { modifiers } from '../../language/updates/updater.ts'

const TESTS = 'packages/embedded-mongo/test'

const TABLES: Record<string, readonly string[]> = {
  'filter operator': [...Object.keys(documentOperators), ...Object.keys(fieldOperators)],
  'update operator': Object.keys(modifiers),
  'expression operator': Object.keys(operators),
  accumulator: accumulatorNames,
  'pipeline stage': stageNames,
}

describe('the tests of the engine', () => {
  const sources = readdirSync(TESTS, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.test.ts'))
    .map((path) => readFileSync(join(TESTS, path), 'utf8'))
  const operatorNames = new Set(sources.flatMap((source) => source.match(/\$[a-zA-Z]\w*/g) ?? []))

  for (const [kind, names] of Object.entries(TABLES))
    it(`name every ${kind}`, () => {
      assert.ok(names.length > 10)
      const missing = names.filter((name) => !operatorNames.has(name))
      assert.deepEqual(missing, [], `add a test of ${missing.join(', ')} to ${TESTS}`)
    })
})
