import assert from 'node:assert/strict'
import { cp, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MongoClient } from 'mongodb'
import { startEmbeddedMongo } from '../../index.ts'
import { checkPages, DamagedFile, readHead } from '../../storage/disk/pages.ts'

const PAGE = 4096
const SIZES: Record<string, number> = { full: 70, most: 700 }
/** The numbers of damaged copies: some are opened with the engine, more are only read. */
const opened = SIZES[process.env.TEST_SIZE ?? ''] ?? 5
const read = 30 * Math.max(opened, 10)
const documents = 1500
/** The keys of the catalogue are below this one. */
const endOfCatalog = Buffer.of(0, 0, 0, 1)

type State = 'clean' | 'unclean' | 'copied'

/** Returns the same numbers between 0 and 1 for the same seed. */
const randomOf = (seed: number) => () => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
  return seed / 2 ** 32
}

describe('a damaged data file', function () {
  this.timeout(180_000)
  let scratch: string
  let early: Buffer
  let laterFile: Buffer
  let transaction: number

  before(async () => {
    scratch = await mkdtemp(join(tmpdir(), 'embedded-mongo-damage-'))
    const file = join(scratch, 'whole', 'data.mdb')
    await change(join(scratch, 'whole'), async (things) => {
      await things.createIndex({ i: 1 })
      const text = (i: number) => 'x'.repeat(i % 40 === 0 ? 9000 : 300)
      await things.insertMany(Array.from({ length: documents + 500 }, (_, i) => ({ i, text: text(i) })))
    })
    early = await readFile(file)
    await change(join(scratch, 'whole'), async (things) => {
      await things.updateMany({ i: { $lt: 300 } }, { $set: { text: 'y'.repeat(500) } })
      await things.deleteMany({ i: { $gte: documents } })
    })
    laterFile = await readFile(file)
    transaction = readHead(file).transaction
  })
  after(() => rm(scratch, { recursive: true, force: true }))

  type Things = ReturnType<ReturnType<MongoClient['db']>['collection']>
  const change = async (dataDir: string, run: (things: Things) => Promise<unknown>) => {
    const engine = await startEmbeddedMongo({ dataDir })
    const client = new MongoClient(engine.uri)
    try {
      return await run(client.db('test').collection('things'))
    } finally {
      await client.close()
      await engine.stop()
      assert.equal(await engine.exited, 0)
    }
  }

  /** Selects the meta pages and the roots half of the time, since most pages are leaves. */
  const pageOf = (random: () => number): number => {
    const roots = [88, 136, PAGE + 88, PAGE + 136].map((at) => Number(laterFile.readBigUInt64LE(at)))
    const pages = [0, 1, ...roots].filter((page) => page < laterFile.length / PAGE)
    const any = Math.floor((random() * laterFile.length) / PAGE)
    return random() < 0.5 ? (pages[Math.floor(random() * pages.length)] as number) : any
  }

  const damages: Record<string, (file: Buffer, at: number, random: () => number) => Buffer> = {
    'cut at a page': (file, at) => file.subarray(0, Math.max(at, PAGE)),
    'cut within a page': (file, at, random) => file.subarray(0, at + 1 + Math.floor(random() * (PAGE - 1))),
    'a page of zeros': (file, at) => file.fill(0, at, at + PAGE),
    'a page of random bytes': (file, at, random) => {
      for (let i = at; i < at + PAGE; i++) file[i] = random() * 256
      return file
    },
    'half a page of random bytes': (file, at, random) => {
      for (let i = at + PAGE / 2; i < at + PAGE; i++) file[i] = random() * 256
      return file
    },
    'some bytes of what a page begins with': (file, at, random) => {
      for (let i = 0; i < 4; i++) file[at + Math.floor(random() * 200)] = random() * 256
      return file
    },
    'a page of an older state': (file, at) => {
      const from = at % early.length
      early.copy(file, at, from, from + PAGE)
      return file
    },
    'a page of another place': (file, at, random) => {
      const from = PAGE * pageOf(random)
      laterFile.copy(file, at, from, from + PAGE)
      return file
    },
    'the first pages of an older state': (file, at) => {
      early.copy(file, 0, 0, at)
      return file
    },
    'the last pages of an older state': (file, at) =>
      Buffer.concat([file.subarray(0, at), early.subarray(at)]),
  }

  const damagedCopy = (seed: number) => {
    const random = randomOf(seed * 7919)
    const names = Object.keys(damages)
    const name = names[seed % names.length] as string
    const page = pageOf(random)
    const bytes = damages[name]?.(Buffer.from(laterFile), page * PAGE, random) as Buffer
    return { bytes, title: `${seed}: ${name}, page ${page}` }
  }

  /** Creates a directory with the file in it, in the state of a closed, unclosed or copied one. */
  const place = async (bytes: Buffer, state: State): Promise<string> => {
    const dataDir = join(scratch, 'copy')
    await rm(dataDir, { recursive: true, force: true })
    await cp(join(scratch, 'whole'), dataDir, { recursive: true })
    await writeFile(join(dataDir, 'data.mdb'), bytes)
    const { ino, mtimeMs } = await stat(join(dataDir, 'data.mdb'))
    const file = state === 'copied' ? 0 : ino
    const closed = state === 'unclean' ? {} : { transaction }
    const storedState = { open: state === 'unclean', file, changed: mtimeMs, ...closed }
    await writeFile(join(dataDir, 'data.mdb.state'), JSON.stringify(storedState))
    return dataDir
  }

  const states: State[] = ['clean', 'unclean', 'copied']
  for (const state of states)
    it(`opens if it is undamaged, ${state}`, async () => {
      const dataDir = await place(laterFile, state)
      await change(dataDir, async (things) =>
        assert.equal(await things.countDocuments({ i: { $gte: 0 } }), documents),
      )
    })

  for (const state of states)
    it(`opens or is refused with a remedy, and never crashes the process: ${opened} copies, ${state}`, async function () {
      this.timeout(opened * 10_000)
      let refusals = 0
      for (let seed = 0; seed < opened; seed++) {
        const { bytes, title } = damagedCopy(seed)
        const dataDir = await place(bytes, state)
        try {
          await change(dataDir, async (things) => {
            // Parts that the start did not verify may still be damaged.
            if (state === 'copied') assert.equal((await things.find().toArray()).length, documents, title)
          })
        } catch (error) {
          const { message } = error as Error
          assert.ok(message.startsWith(`data directory ${dataDir} is damaged: `), `${title}: ${message}`)
          assert.match(message, /data\.mdb .*\. Restore a backup into an empty directory\.$/, title)
          refusals++
        }
      }
      assert.ok(refusals > opened / 4, `${refusals} refused`)
    })

  for (const state of states.filter((state) => state !== 'unclean'))
    it(`is refused if its head is older than at its closing, ${state}`, async () => {
      const heads = [0, 1].map((page) => page * PAGE)
      const newer = (a: number, b: number) =>
        Number(laterFile.readBigUInt64LE(b + 152) - laterFile.readBigUInt64LE(a + 152))
      const [latest = 0] = heads.toSorted(newer)
      const bytes = Buffer.from(laterFile)
      early.copy(bytes, latest, latest, latest + PAGE)
      await assert.rejects(
        change(await place(bytes, state), async () => {}),
        /damaged: data.mdb has a head of an older state/,
      )
    })

  it(`is detected without lmdb: ${read} copies`, async () => {
    const file = join(scratch, 'read.mdb')
    const faults = { opening: 0, reading: 0 }
    const isDamaged = (below?: Buffer): boolean => {
      try {
        checkPages(file, below)
        return false
      } catch (error) {
        assert.ok(error instanceof DamagedFile, String((error as Error).stack))
        return true
      }
    }
    for (let seed = 0; seed < read; seed++) {
      const { bytes, title } = damagedCopy(seed)
      await writeFile(file, bytes)
      const opening = isDamaged(endOfCatalog)
      const reading = isDamaged()
      assert.ok(reading || !opening, title)
      faults.opening += Number(opening)
      faults.reading += Number(reading)
    }
    assert.ok(faults.reading > read / 2, `${faults.reading} of ${read}`)
    assert.ok(faults.reading > faults.opening && faults.opening > read / 4, `${faults.opening} of ${read}`)
    await writeFile(file, laterFile)
    assert.deepEqual([isDamaged(), isDamaged(endOfCatalog)], [false, false])
  })
})
