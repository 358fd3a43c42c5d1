import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { copyFile, cp, mkdir, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MongoClient } from 'mongodb'
import { restoreBackup, startEmbeddedMongo } from '../../index.ts'
import { engineOfBlock, startEngine } from '../../testing.ts'

const documents = (count: number, text = 'x'.repeat(500)) =>
  Array.from({ length: count }, (_, i) => ({ _id: i as never, i, text }))

/** Opens a directory, counts its documents, and closes it. */
const countIn = async (dataDir: string): Promise<number> => {
  const engine = await startEmbeddedMongo({ dataDir })
  const client = new MongoClient(engine.uri)
  try {
    const things = client.db('test').collection('things')
    assert.equal((await things.find().toArray()).length, await things.countDocuments({}))
    return await things.countDocuments({})
  } finally {
    await client.close()
    await engine.stop()
  }
}

describe('the data on disk', function suite() {
  this.timeout(120_000)
  let scratch: string
  beforeEach(async () => {
    scratch = await mkdtemp(join(tmpdir(), 'embedded-mongo-disk-'))
  })
  afterEach(() => rm(scratch, { recursive: true, force: true }))

  describe('of a copied data directory:', () => {
    const engine = engineOfBlock()
    before(async () => {
      await engine.db.collection('things').insertMany(documents(5000))
      await engine.db.collection('things').createIndex({ i: 1 })
    })

    it('opens a clean copy, with or without the files beside the data file', async () => {
      await cp(engine.dataDir, join(scratch, 'a'), {
        recursive: true,
        filter: (name) => !name.endsWith('.sock'),
      })
      assert.equal(await countIn(join(scratch, 'a')), 5000)
      await countIn(join(scratch, 'b'))
      await copyFile(join(engine.dataDir, 'data.mdb'), join(scratch, 'b', 'data.mdb'))
      assert.equal(await countIn(join(scratch, 'b')), 5000)
    })

    it('refuses a copy that mixes two states of the file', async () => {
      const file = join(engine.dataDir, 'data.mdb')
      const early = await readFile(file)
      for (let i = 0; i < 20; i++) await engine.db.collection(`other${i}`).insertMany(documents(200))
      await engine.db.collection('things').updateMany({}, { $set: { text: 'y'.repeat(500) } })
      const laterBytes = await readFile(file)
      // Like a cp that reads while the engine writes: the beginning of one state, the rest of another.
      const torn = Buffer.concat([early.subarray(0, early.length / 2), laterBytes.subarray(early.length / 2)])
      await countIn(join(scratch, 'torn'))
      await writeFile(join(scratch, 'torn', 'data.mdb'), torn)
      await assert.rejects(startEmbeddedMongo({ dataDir: join(scratch, 'torn') }), /damaged/)
    })

    it('makes backups during writes, and restores one only if it is consistent', async () => {
      const admin = engine.client.db('admin')
      const target = join(scratch, 'backup')
      const writing = engine.db.collection('more').insertMany(documents(20_000))
      const receipt = await admin.command({ backup: 1, directory: target })
      await writing
      assert.match(receipt.sha256, /^[\da-f]{64}$/)
      await assert.rejects(admin.command({ backup: 1, directory: target }), /contains the finished backup/)
      await assert.rejects(engine.db.command({ backup: 1, directory: target }), { code: 13 })
      await restoreBackup(target, join(scratch, 'restored'))
      assert.equal(await countIn(join(scratch, 'restored')), 5000)
      await restoreBackup(target, join(scratch, 'restored'))
      await assert.rejects(restoreBackup(target, scratch), /not empty/)
      await truncate(join(target, 'data.mdb'), 8192)
      await assert.rejects(restoreBackup(target, join(scratch, 'again')), /damaged/)
      assert.deepEqual((await readdir(scratch)).sort(), ['backup', 'restored'])
    })
  })

  describe('of a backup', () => {
    /** Returns as soon as something is in the directory, without a turn of the event loop. */
    const spinUntilWritten = (directory: string): void => {
      for (const end = Date.now() + 30_000; Date.now() < end; )
        try {
          if (readdirSync(directory).length > 0) return
        } catch {}
      assert.fail(`nothing was written to ${directory}`)
    }

    const startBackup = async (count: number) => {
      const engine = await startEngine()
      for (let i = 0; i < count; i++) await engine.db.collection(`things${i}`).insertMany(documents(10_000))
      await engine.db.collection('things').insertMany(documents(10))
      const directory = join(scratch, 'backup')
      const answer = engine.client.db('admin').command({ backup: 1, directory })
      answer.catch(() => {})
      // Lets the driver send the command.
      await new Promise((resolve) => setImmediate(resolve))
      spinUntilWritten(directory)
      return { engine, directory, answer }
    }

    it('are those of the time that it names', async () => {
      const { engine, answer } = await startBackup(2)
      const begun = Date.now()
      const { at } = await answer
      assert.ok(Date.parse(at) <= begun, `${at} is after ${new Date(begun).toISOString()}`)
      await engine.stop()
    })

    it('can be written and restored again after kill -9 during each', async () => {
      const { engine, directory } = await startBackup(8)
      await engine.kill()
      assert.ok(!readdirSync(directory).includes('backup.json'), 'the backup was finished before')
      await assert.rejects(restoreBackup(directory, join(scratch, 'none')), /contains no finished backup/)
      await engine.restart()
      await engine.client.db('admin').command({ backup: 1, directory })
      await engine.stop()
      const restored = join(scratch, 'restored')
      const script = `import fs from 'node:fs'
        import { syncBuiltinESMExports } from 'node:module'
        fs.copyFileSync = (from, to) => {
          fs.writeFileSync(to, 'a part')
          process.kill(process.pid, 'SIGKILL')
        }
        syncBuiltinESMExports()
        const { restoreBackup } = await import('${new URL('../../index.js', import.meta.url)}')
        await restoreBackup(process.argv[1], process.argv[2])`
      const args = ['--input-type=module', '--eval', script, directory, restored]
      const killed = () => spawnSync(process.execPath, args, { encoding: 'utf8' })
      const firstKill = killed()
      assert.equal(firstKill.signal, 'SIGKILL', firstKill.stderr)
      await assert.rejects(startEmbeddedMongo({ dataDir: restored }), /damaged/)
      await rm(restored, { recursive: true })
      assert.equal(killed().signal, 'SIGKILL')
      await restoreBackup(directory, restored)
      assert.equal(await countIn(restored), 10)
    })

    it('are written by one backup at a time', async () => {
      const { engine, directory, answer } = await startBackup(2)
      const other = engine.client.db('admin').command({ backup: 1, directory })
      await assert.rejects(other, /another backup is being written there/)
      await answer
      await restoreBackup(directory, join(scratch, 'restored'))
      await engine.stop()
    })
  })

  it('verifies the data quickly after kill -9', async () => {
    const engine = await startEngine()
    await engine.db.collection('things').insertMany(documents(20_000, 'x'))
    await engine.kill()
    await engine.restart()
    assert.equal(await engine.db.collection('things').countDocuments({}), 20_000)
    await engine.stop()
  })

  it('are created anew over a file into which nothing was written', async () => {
    const dataDir = join(scratch, 'unwritten')
    await mkdir(dataDir)
    await writeFile(join(dataDir, 'data.mdb'), Buffer.alloc(32_768))
    assert.equal(await countIn(dataDir), 0)
  })

  it('stay readable on a full disk, which refuses writes, and recover when there is room', async function full() {
    const small = join(scratch, 'small')
    try {
      execFileSync('sh', ['-c', 'mkdir "$0" && mount -t tmpfs -o size=8m tmpfs "$0"', small], {
        stdio: 'ignore',
      })
    } catch {
      // Only root can mount a small disk.
      return this.skip()
    }
    try {
      await fillDisk(small)
    } finally {
      execFileSync('sh', ['-c', 'umount -l "$0"', small])
    }
  })
})

const fillDisk = async (disk: string): Promise<void> => {
  const dataDir = join(disk, 'data')
  await writeFile(join(disk, 'filler'), Buffer.alloc(3_500_000))
  let engine = await startEmbeddedMongo({ dataDir })
  let client = new MongoClient(engine.uri)
  let things = client.db('test').collection('things')
  const text = 'x'.repeat(20_000)
  let bytes = 0
  await assert.rejects(
    async () => {
      for (;;) await things.insertOne({ _id: bytes++ as never, text })
    },
    { code: 14031 },
  )
  const storedCount = await things.countDocuments({ _id: { $gte: 0 as never } })
  assert.equal(storedCount, bytes - 1)
  const more = Array.from({ length: 200 }, () => ({ text }))
  await assert.rejects(things.insertMany(more), { code: 14031 })
  await assert.rejects(startEmbeddedMongo({ dataDir: join(disk, 'second') }), /the disk of .* is full/)
  await client.close()
  await engine.stop()

  engine = await startEmbeddedMongo({ dataDir })
  client = new MongoClient(engine.uri)
  things = client.db('test').collection('things')
  assert.equal((await things.find().toArray()).length, storedCount)
  await rm(join(disk, 'filler'))
  await things.deleteMany({ _id: { $lt: 100 as never } })
  await things.insertOne({ _id: -1 as never, text })
  assert.equal(await things.countDocuments({}), storedCount - 99)
  await client.close()
  await engine.stop()
}
