import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, realpath, rm, stat } from 'node:fs/promises'
import { connect } from 'node:net'
import { networkInterfaces, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Document, MongoClient } from 'mongodb'
import { startEmbeddedMongo } from '../../index.ts'
import { socketPathOf } from '../../testing.ts'

const main = fileURLToPath(new URL('../../main.js', import.meta.url))
const index = new URL('../../index.js', import.meta.url).href

interface Run {
  child: ChildProcess
  output: () => string
  /** The exit code, and the output to stdout and stderr. */
  ended: Promise<[code: number | null, output: string]>
}

const run = (...argv: string[]): Run => {
  const child = spawn(process.execPath, [main, ...argv], { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      output += chunk
    })
  return { child, output: () => output, ended: once(child, 'close').then(([code]) => [code, output]) }
}

/** Starts the command line and waits for the line that reports the address. */
const ready = async (dataDir: string): Promise<Run & { uri: string }> => {
  const started = run('--data', dataDir, '--port', '0')
  for (let i = 0; i < 600 && !started.output().includes('\n'); i++) await sleep(50)
  const uri = /^embedded-mongo ready: (mongodb:\/\/127\.0\.0\.1:\d+) data (.+)\n$/.exec(started.output())
  assert.ok(uri?.[1] && uri[2] === dataDir, started.output())
  return { ...started, uri: uri[1] }
}

const alive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

const gone = async (pid: number): Promise<boolean> => {
  for (let i = 0; i < 600 && alive(pid); i++) await sleep(50)
  return !alive(pid)
}

describe('the process', () => {
  let dataDir: string
  beforeEach(async () => {
    dataDir = join(await mkdtemp(join(tmpdir(), 'embedded-mongo-process-')), 'data')
  })
  afterEach(() => rm(join(dataDir, '..'), { recursive: true, force: true }))

  describe('started by the command line', () => {
    it('prints help with --help', async () => {
      const [code, output] = await run('--help').ended
      assert.equal(code, 0)
      assert.match(output, /--data DIR.*\n.*--port N/s)
    })
    for (const argv of [
      [],
      ['--data'],
      ['--data', 'x', '--frob'],
      ['--data', 'x', 'y'],
      ['--data', 'x', '--port', 'abc'],
      ['--data', 'x', '--port', '70000'],
      ['--data', 'x', '--port', '0', '--socket'],
    ])
      it(`refuses the arguments: ${argv.join(' ') || 'nothing'}`, async () => {
        const [code, output] = await run(...argv).ended
        assert.equal(code, 2)
        assert.match(output, /Usage/)
      })

    it('creates the directory with mode 700, listens only on the loopback interface, and drains on SIGTERM', async () => {
      const { child, uri, ended } = await ready(dataDir)
      assert.equal((await stat(dataDir)).mode & 0o777, 0o700)
      const port = Number(new URL(uri).port)
      const outer = Object.values(networkInterfaces())
        .flat()
        .find((address) => address && !address.internal && address.family === 'IPv4')
      if (outer) await assert.rejects(once(connect(port, outer.address), 'connect'))
      // The stopped engine answers nothing, so do not wait long for it.
      const client = new MongoClient(uri, { serverSelectionTimeoutMS: 3000 })
      const collection = client.db('test').collection('c')
      await collection.insertOne({ warm: 1 })
      const writes = Array.from({ length: 200 }, (_, i) => collection.insertOne({ i }).then(() => i))
      await sleep(5)
      child.kill('SIGTERM')
      const acknowledgedCount = (await Promise.allSettled(writes)).filter(
        ({ status }) => status === 'fulfilled',
      ).length
      assert.equal((await ended)[0], 0)
      await client.close()
      const restarted = await startEmbeddedMongo({ dataDir })
      const reader = new MongoClient(restarted.uri)
      assert.ok(
        (await reader
          .db('test')
          .collection('c')
          .countDocuments({ i: { $exists: true } })) >= acknowledgedCount,
      )
      await reader.close()
      await restarted.stop()
    })

    it('reports that the port is in use', async () => {
      const { child, uri, ended } = await ready(dataDir)
      const [code, output] = await run('--data', `${dataDir}2`, '--port', new URL(uri).port).ended
      child.kill('SIGINT')
      assert.equal(code, 1)
      assert.match(output, /cannot listen on port/)
      assert.equal((await ended)[0], 0)
    })
  })

  describe('with a socket', () => {
    const listen = async (directory: string) => {
      const { child, output, ended } = run('--data', directory, '--socket')
      while (!output().includes('\n')) await sleep(50)
      const [, uri = ''] = /^embedded-mongo ready: (\S+) data/.exec(output()) ?? []
      const client = await MongoClient.connect(uri)
      const stop = async () => {
        await client.close()
        child.kill('SIGTERM')
        assert.equal((await ended)[0], 0)
      }
      return { client, path: socketPathOf(uri), stop }
    }

    it('lets only its user connect', async () => {
      const { client, path, stop } = await listen(dataDir)
      assert.equal(path, join(await realpath(dataDir), 'engine.sock'))
      assert.equal((await stat(path)).mode & 0o777, 0o700)
      assert.equal((await stat(dirname(path))).mode & 0o777, 0o700)
      const { you } = await client.db('test').command({ whatsmyuri: 1 })
      assert.equal(you, 'anonymous unix socket')
      await stop()
      assert.ok(!existsSync(path))
    })

    it('keeps the socket in a temporary directory if the path of the data directory is too long for it', async () => {
      const { client, path, stop } = await listen(join(dataDir, 'long'.repeat(25)))
      assert.equal(dirname(dirname(path)), tmpdir())
      assert.equal((await stat(dirname(path))).mode & 0o777, 0o700)
      await client.db('test').collection('c').insertOne({ n: 1 })
      await stop()
      assert.ok(!existsSync(dirname(path)))
    })
  })

  it('ends after kill -9 of its parent', async () => {
    const script = `
      const { startEmbeddedMongo } = await import(${JSON.stringify(index)})
      const { pid, uri } = await startEmbeddedMongo({ dataDir: ${JSON.stringify(dataDir)} })
      process.stdout.write(JSON.stringify({ pid, uri }))`
    const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [chunk] = await once(parent.stdout, 'data')
    const { pid } = JSON.parse(String(chunk))
    assert.ok(alive(pid))
    parent.kill('SIGKILL')
    assert.ok(await gone(pid))
    await (await startEmbeddedMongo({ dataDir })).stop()
  })

  it('ends even if it is too busy to notice that its parent has ended', async () => {
    const script = `import { startEmbeddedMongo } from ${JSON.stringify(index)}
      const engine = await startEmbeddedMongo({ dataDir: ${JSON.stringify(dataDir)} })
      process.stdout.write(engine.uri + ' ' + engine.pid)
      setInterval(() => {}, 1000)`
    const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [output] = await once(parent.stdout, 'data')
    const [uri, pid] = String(output).split(' ')
    const client = new MongoClient(String(uri))
    const nested = (depth: number): Document =>
      depth === 0 ? { $add: [1, 1] } : { $map: { input: { $range: [0, 2000] }, in: nested(depth - 1) } }
    await client.db('test').collection('one').insertOne({})
    const busy = client
      .db('test')
      .collection('one')
      .aggregate([{ $project: { a: nested(4) } }])
      .toArray()
    await Promise.race([sleep(500), assert.rejects(busy)])
    parent.kill('SIGKILL')
    for (let i = 0; i < 600 && alive(Number(pid)); i++) await sleep(50)
    assert.equal(alive(Number(pid)), false)
    await client.close(true)
    await assert.rejects(busy)
  })

  if (process.env.TEST_SIZE)
    it('is killed by stop() if it does not stop by itself', async () => {
      const engine = await startEmbeddedMongo({ dataDir })
      process.kill(engine.pid, 'SIGSTOP')
      const startTime = performance.now()
      await engine.stop()
      assert.equal(await engine.exited, -1)
      assert.ok(performance.now() - startTime < 15_000)
    }).timeout(30_000)

  it('closes only the connection that sent malformed bytes', async () => {
    const server = await startEmbeddedMongo({ dataDir })
    const path = socketPathOf(server.uri)
    const header = (length: number, code: number) => {
      const bytes = Buffer.alloc(16)
      bytes.writeInt32LE(length, 0)
      bytes.writeInt32LE(code, 12)
      return bytes
    }
    const attempts = [
      Buffer.from('GET / HTTP/1.1\r\n\r\n'),
      Buffer.alloc(64, 0xff),
      header(48_000_001, 2013),
      header(8, 2013),
      header(-1, 2013),
      Buffer.concat([header(25, 2012), Buffer.alloc(9)]),
      Buffer.concat([header(26, 2013), Buffer.alloc(10)]),
    ]
    for (const bytes of attempts) {
      const socket = connect(path)
      socket.on('error', () => {})
      socket.write(bytes)
      socket.resume()
      await once(socket, 'close', { signal: AbortSignal.timeout(5000) })
    }
    const half = connect(path)
    half.write(header(1000, 2013))
    const client = new MongoClient(server.uri)
    assert.equal((await client.db('test').command({ ping: 1 })).ok, 1)
    const nested = (depth: number, key: string) => {
      let document: Document = { a: 1 }
      for (let i = 0; i < depth; i++) document = { [key]: key === '$and' ? [document] : document }
      return document
    }
    await assert.rejects(client.db('test').collection('c').insertOne(nested(201, 'a')), { code: 15 })
    await assert.rejects(client.db('test').collection('c').findOne(nested(2000, '$and')), { code: 15 })
    await client.close()
    await server.stop()
    half.destroy()
  })
})
