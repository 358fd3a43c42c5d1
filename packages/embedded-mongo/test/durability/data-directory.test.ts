import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { cp, mkdtemp, open, readFile, rm, stat, truncate, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MongoClient } from 'mongodb'
import { startEmbeddedMongo } from '../../index.ts'

/** How often a damaged directory is tried: what is left as it is is refused each time. */
const times = /^(full|most)$/.test(process.env.TEST_SIZE ?? '') ? 2 : 1

describe('the data directory', () => {
  let dataDir: string
  beforeEach(async () => {
    dataDir = join(await mkdtemp(join(tmpdir(), 'embedded-mongo-process-')), 'data')
  })
  afterEach(() => rm(join(dataDir, '..'), { recursive: true, force: true }))

  let samples: string
  before(async () => {
    samples = await mkdtemp(join(tmpdir(), 'embedded-mongo-samples-'))
    for (const documents of [1, 2000]) await fill(join(samples, String(documents)), documents)
  })
  after(() => rm(samples, { recursive: true, force: true }))

  const fill = async (dataDir: string, documents: number): Promise<void> => {
    const server = await startEmbeddedMongo({ dataDir })
    const client = new MongoClient(server.uri)
    await client
      .db('test')
      .collection('c')
      .insertMany(Array.from({ length: documents }, (_, i) => ({ i, text: 'x'.repeat(500) })))
    await client.close()
    await server.stop()
  }
  /** Leaves a directory with a little data in it. */
  const filled = (documents: 1 | 2000 = 1): Promise<void> =>
    cp(join(samples, String(documents)), dataDir, { recursive: true })
  const refusal = async (): Promise<string> => {
    const error = await startEmbeddedMongo({ dataDir }).then(
      async (server) => {
        await server.stop()
        return assert.fail('started')
      },
      (fault: Error) => fault.message,
    )
    assert.match(error, new RegExp(dataDir))
    return error
  }

  describe('one process at a time', () => {
    it('a second one on the same directory is refused and told who holds it', async () => {
      const first = await startEmbeddedMongo({ dataDir })
      const told = new RegExp(
        `in use by a service that was started in ${process.cwd()} at 2.*Z, process ${process.pid}`,
      )
      assert.match(await refusal(), told)
      await first.stop()
      await (await startEmbeddedMongo({ dataDir })).stop()
    })

    it('of many that start at once, one wins', async () => {
      await filled()
      const results = await Promise.allSettled(
        Array.from({ length: 4 }, () => startEmbeddedMongo({ dataDir })),
      )
      const won = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
      assert.equal(won.length, 1)
      await won[0]?.stop()
    })

    it('a lock left behind by kill -9 is no hindrance', async () => {
      const first = await startEmbeddedMongo({ dataDir })
      process.kill(first.pid, 'SIGKILL')
      assert.equal(await first.exited, -1)
      assert.ok(existsSync(join(dataDir, 'lock.sock')))
      await (await startEmbeddedMongo({ dataDir })).stop()
      await first.stop()
    })
  })

  describe('a damaged directory is refused, and left as it is', () => {
    const file = () => join(dataDir, 'data.mdb')
    const refused = async (sentence: RegExp) => {
      for (let i = 0; i < times; i++) assert.match(await refusal(), sentence)
    }

    it('the data file is missing', async () => {
      await filled()
      await unlink(file())
      await refused(/damaged: data\.mdb is missing/)
      assert.ok(!existsSync(file()))
    })

    it('the data file is empty, text, or random bytes', async () => {
      await filled()
      for (const bytes of [Buffer.alloc(0), Buffer.from('hello'), Buffer.alloc(100_000, 0x5a)]) {
        await writeFile(file(), bytes)
        await refused(/damaged: data\.mdb is not a database/)
        assert.deepEqual(await readFile(file()), bytes)
      }
    })

    it('the second page is overwritten', async () => {
      await filled()
      const handle = await open(file(), 'r+')
      await handle.write(Buffer.alloc(4096, 7), 0, 4096, 4096)
      await handle.close()
      await refused(/damaged/)
    })

    for (const part of [0.3, 0.7])
      it(`the data file is cut to ${part * 100} %`, async () => {
        await filled(2000)
        await truncate(file(), Math.floor((await stat(file())).size * part))
        await refused(/damaged/)
      })

    it('the format is unknown, or its marker unreadable', async () => {
      await filled()
      await writeFile(join(dataDir, 'embedded-mongo.json'), '{"format":99}')
      await refused(/has format 99; this version reads format 1/)
      await writeFile(join(dataDir, 'embedded-mongo.json'), 'x')
      await refused(/damaged: embedded-mongo\.json cannot be read/)
    })

    it('the directory is a file', async () => {
      await writeFile(dataDir, 'x')
      assert.match(await refusal(), /cannot use data directory/)
    })
  })
})
