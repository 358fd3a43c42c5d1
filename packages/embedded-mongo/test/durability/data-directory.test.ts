import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import {
  chmod,
  chown,
  cp,
  mkdtemp,
  open,
  readdir,
  readFile,
  rm,
  stat,
  truncate,
  unlink,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { MongoClient } from 'mongodb'
import { startEmbeddedMongo } from '../../index.ts'

/** The number of starts on a damaged directory. Each must be refused, since none may change the directory. */
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
  /** Creates a directory with some data in it. */
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

  describe('is used by one process at a time:', () => {
    it('refuses a second process and names the first', async () => {
      const engine = await startEmbeddedMongo({ dataDir })
      const message = new RegExp(
        `in use by process ${process.pid}, which was started in ${process.cwd()} at 2.*Z\\. Stop it first\\.`,
      )
      assert.match(await refusal(), message)
      process.kill(engine.pid, 'SIGSTOP')
      const frozen = /in use by another embedded-mongo that does not respond\. Stop it first\./
      assert.match(await refusal().finally(() => process.kill(engine.pid, 'SIGCONT')), frozen)
      await engine.stop()
      await (await startEmbeddedMongo({ dataDir })).stop()
    })

    it('accepts one of many processes that start at once, also after kill -9', async () => {
      await filled()
      for (let i = 0; i < 4; i++) {
        const results = await Promise.allSettled(
          Array.from({ length: 4 }, () => startEmbeddedMongo({ dataDir })),
        )
        const won = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
        assert.equal(won.length, 1)
        process.kill(won[0]?.pid ?? 0, 'SIGKILL')
        await won[0]?.exited
        await won[0]?.stop()
      }
    })

    it('ignores a lock left by kill -9', async () => {
      const engine = await startEmbeddedMongo({ dataDir })
      process.kill(engine.pid, 'SIGKILL')
      assert.equal(await engine.exited, -1)
      assert.ok(existsSync(join(dataDir, 'lock.sock')))
      await (await startEmbeddedMongo({ dataDir })).stop()
      const names = await readdir(dataDir)
      assert.deepEqual(
        names.filter((name) => name.endsWith('.sock')),
        [],
      )
      await engine.stop()
    })
  })

  describe('refuses damage, and leaves the files unchanged:', () => {
    const file = () => join(dataDir, 'data.mdb')
    const assertRefused = async (sentence: RegExp) => {
      for (let i = 0; i < times; i++) assert.match(await refusal(), sentence)
    }

    it('a missing data file', async () => {
      await filled()
      await unlink(file())
      await assertRefused(/damaged: data\.mdb is missing/)
      assert.ok(!existsSync(file()))
    })

    it('an empty data file, a text, or random bytes', async () => {
      await filled()
      for (const bytes of [Buffer.alloc(0), Buffer.from('hello'), Buffer.alloc(100_000, 0x5a)]) {
        await writeFile(file(), bytes)
        await assertRefused(/damaged: data\.mdb is not a database/)
        assert.deepEqual(await readFile(file()), bytes)
      }
    })

    it('an overwritten second page', async () => {
      await filled()
      const handle = await open(file(), 'r+')
      await handle.write(Buffer.alloc(4096, 7), 0, 4096, 4096)
      await handle.close()
      await assertRefused(/damaged/)
    })

    for (const part of [0.3, 0.7])
      it(`a data file cut to ${part * 100} %`, async () => {
        await filled(2000)
        await truncate(file(), Math.floor((await stat(file())).size * part))
        await assertRefused(/damaged/)
      })

    it('an unknown format, or an unreadable format file', async () => {
      await filled()
      await writeFile(join(dataDir, 'embedded-mongo.json'), '{"format":99}')
      await assertRefused(/has format 99; this version reads format 1/)
      await writeFile(join(dataDir, 'embedded-mongo.json'), 'x')
      await assertRefused(/damaged: embedded-mongo\.json cannot be read/)
    })

    it('a file in place of the directory', async () => {
      await writeFile(dataDir, 'x')
      assert.match(await refusal(), /cannot use data directory/)
    })
  })

  describe('explains missing rights, and does not call them damage:', () => {
    /** root may read everything, so as root these tests start the engine as nobody. */
    const isRoot = process.getuid?.() === 0
    const NOBODY = 65534
    const user = isRoot ? NOBODY : (process.getuid?.() as number)
    const main = fileURLToPath(new URL('../../main.js', import.meta.url))

    /** Whether that user may read the engine and Node: a parent directory of the checkout may be closed. */
    const mayRun = (): boolean =>
      spawnSync(process.execPath, ['--check', main], { cwd: '/', ...(isRoot && { uid: user, gid: user }) })
        .status === 0

    const refusalOf = (): string => {
      const { status, stderr } = spawnSync(process.execPath, [main, '--data', dataDir, '--port', '0'], {
        encoding: 'utf8',
        cwd: '/',
        ...(isRoot && { uid: user, gid: user }),
      })
      assert.equal(status, 1, stderr)
      assert.ok(stderr.startsWith(`embedded-mongo: cannot use data directory ${dataDir}: `), stderr)
      assert.doesNotMatch(stderr, /damaged|Error:/)
      return stderr
    }
    const assertIncludes = (text: string, part: string): void => assert.ok(text.includes(part), text)
    /** Creates a directory that the user may use; a test then forbids one thing in it. */
    const filledFor = async (owner: number): Promise<void> => {
      await filled()
      await writeFile(join(dataDir, 'lock.sock'), '')
      await chmod(join(dataDir, '..'), 0o755)
      if (isRoot) await chmod(tmpdir(), (await stat(tmpdir())).mode | 0o011)
      for (const name of [
        '',
        'data.mdb',
        'data.mdb-lock',
        'data.mdb.state',
        'embedded-mongo.json',
        'lock.sock',
      ])
        if (isRoot) await chown(join(dataDir, name), owner, owner)
    }
    const names = ['data.mdb', 'data.mdb-lock', 'data.mdb.state', 'embedded-mongo.json', 'lock.sock']

    before(function () {
      if (process.platform === 'win32') this.skip()
      if (mayRun()) return
      process.stderr.write(`Skipped: uid ${user} may not read ${main}, so it cannot start the engine\n`)
      this.skip()
    })

    for (const name of ['.', ...names])
      it(`names the file and chmod if the user's own ${name} has the wrong mode`, async () => {
        await filledFor(user)
        const path = join(dataDir, name)
        await chmod(path, 0o000)
        const sentence = `its owner, this user (uid ${user}), cannot read and write ${path}. Allow it with chmod`
        assertIncludes(refusalOf(), sentence)
        await chmod(path, 0o700)
      })

    for (const name of ['.', ...names])
      it(`names the file and both users if ${name} belongs to another user`, async function () {
        if (!isRoot) return this.skip()
        await filledFor(user)
        const path = join(dataDir, name)
        await chown(path, 0, 0)
        await chmod(path, name === '.' ? 0o755 : 0o644)
        const sentence = `${path} belongs to another user (uid 0), and this user (uid ${user}) cannot read and write it`
        assertIncludes(refusalOf(), sentence)
      })

    it('names a closed directory above it', async () => {
      await filledFor(user)
      const above = join(dataDir, '..')
      if (isRoot) await chown(above, 0, 0)
      await chmod(above, isRoot ? 0o700 : 0o000)
      const sentence = refusalOf()
      await chmod(above, 0o700)
      const reason = isRoot ? `${above} belongs to another user (uid 0)` : `cannot read and write ${above}.`
      assertIncludes(sentence, reason)
    })

    it('does not call a backup missing or damaged that restoreBackup may not read', async () => {
      await filledFor(user)
      const index = new URL('../../index.js', import.meta.url).href
      const script = `import { restoreBackup } from '${index}'
        await restoreBackup(process.argv[1], '/nowhere').catch(({ code }) => console.log(code))`
      await chmod(dataDir, 0o000)
      const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script, dataDir], {
        encoding: 'utf8',
        cwd: '/',
        ...(isRoot && { uid: user, gid: user }),
      })
      await chmod(dataDir, 0o700)
      assert.equal(stdout.trim(), 'EACCES')
    })
  })
})
