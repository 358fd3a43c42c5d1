/**
 * Runs every step of the Dockerfile in order, on a machine that cannot build containers. Each stage uses an empty folder
 * as its file system. Then starts the command of the final stage, sends requests, stops it, and runs tests in the stage
 * "test". It cannot check another user, a read-only root, the base image and Debian's packages.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

const work = mkdtempSync(join(tmpdir(), 'image-'))
const context = join(work, 'context')
const commands = join(work, 'commands')
const run = (command, args, options) =>
  execFileSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'], ...options })
const output = (command, args) => execFileSync(command, args, { encoding: 'utf8' })
const say = (sentence) =>
  process.stdout.write(`Image by steps, ${Math.round(performance.now() / 1000)} s: ${sentence}\n`)

/** The files of this checkout that .dockerignore admits. Its patterns name entries of the top folder. */
function makeContext() {
  const patterns = readFileSync('.dockerignore', 'utf8').split('\n')
  const admitted = patterns
    .filter((line) => line.startsWith('!'))
    .map((line) => new RegExp(`^${line.slice(1).replaceAll('.', '\\.').replaceAll('*', '.*')}$`))
  const files = output('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard']).split('\0')
  for (const file of files.filter((path) => admitted.some((pattern) => pattern.test(path.split('/')[0]))))
    cpSync(file, join(context, file), { preserveTimestamps: true })
}

/** Replaces commands that need root by empty ones. The service runs as this machine's user. */
function makeCommands() {
  mkdirSync(commands)
  for (const command of ['chown', 'apt-get'])
    writeFileSync(join(commands, command), '#!/bin/sh\n', { mode: 0o755 })
}

const instructions = () =>
  readFileSync('Dockerfile', 'utf8')
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line.trim())
    .map((line) => [/^\S+/.exec(line)[0], line.replace(/^\S+\s+/, '')])

class Stage {
  env = { ...process.env, PATH: `${commands}:${process.env.PATH}` }
  command = []

  constructor(name, base) {
    this.root = join(work, `stage-${name}`)
    mkdirSync(this.root)
    if (!base) return
    run('cp', ['-a', `${base.root}/.`, this.root])
    this.env = { ...base.env }
    this.directory = this.inside(base.workdir)
    this.workdir = base.workdir
  }

  /** Maps a path of the image to one of this machine. */
  inside(path) {
    return join(this.root, resolve(this.workdir ?? '/', path))
  }

  /** Prefixes the image's paths in a text with this folder. */
  local(text) {
    return text.replace(/(?<![\w./])\/(?=(app|data)\b)/g, `${this.root}/`)
  }

  perform(name, rest, stages) {
    if (name === 'WORKDIR') {
      this.workdir = rest
      this.directory = this.inside(rest)
      mkdirSync(this.directory, { recursive: true })
    } else if (name === 'ENV') {
      for (const [, key, value] of rest.matchAll(/(\w+)=(\S+)/g))
        this.env[key] = this.local(value).replace('$PATH', this.env.PATH)
    } else if (name === 'COPY') this.copy(rest.split(/\s+/), stages)
    else if (name === 'RUN') run('sh', ['-c', this.local(rest)], { cwd: this.directory, env: this.env })
    else if (name === 'CMD') this.command = JSON.parse(rest)
    else if (!['USER', 'HEALTHCHECK', 'VOLUME', 'EXPOSE'].includes(name))
      throw new Error(`unknown instruction ${name}`)
  }

  copy(words, stages) {
    const from = words.find((word) => word.startsWith('--from='))?.slice('--from='.length)
    const paths = words.filter((word) => !word.startsWith('--'))
    const target = paths.pop()
    const sources = paths.map((path) => (from ? stages.get(from).inside(path) : join(context, path)))
    for (const source of sources) {
      const into = target.endsWith('/') ? join(this.inside(target), basename(source)) : this.inside(target)
      cpSync(source, into, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true })
    }
  }
}

/** @returns the stages by name; the final one has no name and gets "final" */
function runDockerfile() {
  const stages = new Map()
  let stage
  for (const [name, rest] of instructions()) {
    if (name === 'FROM') {
      const [base, , given = 'final'] = rest.split(/\s+/)
      stage = new Stage(given, stages.get(base))
      stages.set(given, stage)
    } else stage.perform(name, rest, stages)
    say(`${name} ${rest.slice(0, 80)}`)
  }
  return stages
}

function checkContent({ root }) {
  const isOurs = (path) => !path.includes('node_modules')
  const beside = readdirSync(join(root, 'app'), { recursive: true })
    .filter(isOurs)
    .filter((path) => /\.ts$|(^|\/)(test|bench)\//.test(path))
  if (beside.length > 0) throw new Error(`The image has sources or tests: ${beside.join(', ')}`)
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  await new Promise((closed) => server.close(closed))
  return port
}

async function untilReady(url, attempts = 120) {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const answer = await fetch(url).catch(() => undefined)
    if (answer?.ok) return
    await wait(500)
  }
  throw new Error(`${url} does not answer`)
}

async function checkService(stage) {
  const file = join(work, 'environment')
  const port = await freePort()
  const given = [
    'HOST=127.0.0.1',
    'PUBLIC_URL=http://127.0.0.1',
    'MAIL_FROM=care@example.org',
    'MONGODB_URI=',
  ]
  const mail = 'SMTP_URL=smtp://127.0.0.1:9'
  run(process.execPath, ['.ci/image/compose.mjs', 'environment', file, `PORT=${port}`, ...given, mail])
  const values = readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => line.split(/=(.*)/s).slice(0, 2))
  const [program, ...args] = stage.command
  const env = { ...stage.env, ...Object.fromEntries(values) }
  const service = spawn(program, args, { cwd: stage.directory, env, stdio: ['ignore', 'ignore', 'inherit'] })
  try {
    await untilReady(`http://127.0.0.1:${port}/health/ready`)
    run('.ci/image/ask', [file])
  } finally {
    service.kill('SIGTERM')
  }
  const [code] = await once(service, 'exit')
  if (code !== 0) throw new Error(`The service exited with ${code} on SIGTERM`)
}

async function checkTests(stage) {
  const port = await freePort()
  const engine = [
    'packages/embedded-mongo/dist/main.js',
    '--data',
    join(work, 'mongo'),
    '--port',
    String(port),
  ]
  const mongo = spawn(process.execPath, engine, { cwd: stage.directory, stdio: 'ignore' })
  try {
    const [program, ...args] = stage.command
    const env = { ...stage.env, MONGODB_URI: `mongodb://127.0.0.1:${port}/test` }
    run(program, [...args, '--', ...process.argv.slice(2)], { cwd: stage.directory, env })
  } finally {
    mongo.kill('SIGTERM')
    await once(mongo, 'exit')
  }
}

try {
  makeContext()
  makeCommands()
  const stages = runDockerfile()
  checkContent(stages.get('final'))
  await checkService(stages.get('final'))
  say('the service started, responded, signed up a user, and exited with 0 on SIGTERM')
  await checkTests(stages.get('test'))
  say('tests ran in the stage test; not checked: another user, a read-only root and Debian packages')
} finally {
  rmSync(work, { recursive: true, force: true })
}
