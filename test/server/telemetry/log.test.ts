import assert from 'node:assert/strict'
import { MongoError } from 'mongodb'
import { pino } from 'pino'
import { readConfig } from '../../../server/config/config.ts'
import { createLog } from '../../../server/telemetry/log.ts'
import { createDataDir } from '../../harness/service/service-process.ts'

describe('the log', () => {
  const log = createLog(readConfig({ DATA_DIR: createDataDir(), LOG_LEVEL: 'silent' }, false))
  const { err } = (log as unknown as Record<symbol, Record<string, (error: unknown) => object>>)[
    pino.symbols.serializersSym
  ] as { err(error: unknown): { errors?: { name: string; message?: string }[] } }

  it('names the causes of a run in which several steps failed, without quoting documents', () => {
    const causes = [
      new TypeError('no plan'),
      new MongoError('dup key: { email: "ann@example.org" }'),
      new SyntaxError('Unexpected "ann"'),
    ]
    const { errors } = err(new AggregateError([...causes, ...Array(100).fill(causes[0])], 'Some failed.'))
    assert.deepEqual(
      errors?.slice(0, 3).map(({ name, message }) => [name, message]),
      [
        ['TypeError', 'no plan'],
        ['MongoError', undefined],
        ['SyntaxError', undefined],
      ],
    )
    assert.equal(errors?.length, 5)
  })
})
