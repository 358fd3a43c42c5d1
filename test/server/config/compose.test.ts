import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runInNewContext } from 'node:vm'
import { parse } from 'yaml'
import { createConfigurationRows, readConfig } from '../../../server/config/config.ts'

interface ComposeService {
  build?: string | object
  command?: string[]
  entrypoint?: string[]
  environment?: Record<string, string>
  healthcheck?: { test?: string[]; disable?: boolean }
  image?: string
  mem_limit?: string
  networks?: string[]
  ports?: string[]
  profiles?: string[]
  restart?: string
  volumes?: string[]
}

const text = readFileSync('docker-compose.yml', 'utf8')
const { services, volumes, networks, configs } = parse(text, { merge: true }) as {
  services: Record<string, ComposeService>
  volumes: Record<string, unknown>
  networks: Record<string, { internal?: boolean } | null>
  configs: Record<string, { file: string }>
}
const members = Object.entries(services).filter(([name]) => /^mongo\d$/.test(name))

const megabytes = (limit = ''): number => Number.parseInt(limit, 10) * (limit.endsWith('g') ? 1024 : 1)
const ours = Object.entries(services).filter(([, { build }]) => build === '.')

/** Replaces `${NAME:?why}` by a value of the right form, and `${NAME:-default}` by the default. */
const filledIn = (template: string): string =>
  template
    .replace(/\$\{\w+:-([^}]*)\}/g, '$1')
    .replace(/\$\{(\w+):\?[^}]*\}/g, (_, name: string) =>
      name.endsWith('URL')
        ? 'https://health.example.org'
        : name === 'MAIL_FROM'
          ? 'care@example.org'
          : `${name}-of-our-own`,
    )

describe('docker-compose.yml', () => {
  it('runs the service and the open test environment', () => {
    assert.deepEqual(
      ours.map(([name]) => name),
      ['service', 'open'],
    )
  })

  for (const [name, { command = [], environment = {} }] of ours) {
    it(`sets variables of the configuration for ${name}, to valid values in production`, () => {
      const knownVariables = createConfigurationRows().map(([variable]) => variable)
      for (const variable of Object.keys(environment)) assert.ok(knownVariables.includes(variable), variable)
      const env = Object.fromEntries(
        Object.entries(environment).map(([variable, value]) => [variable, filledIn(value)]),
      )
      const config = readConfig({ NODE_ENV: 'production', ...env }, command.includes('open'))
      assert.equal(config.production, true)
    })

    it(`contains no secret for ${name}`, () => {
      for (const variable of ['APPLICATION_ID', 'REST_API_KEY', 'JAVASCRIPT_KEY', 'MASTER_KEY', 'AUDIT_KEY'])
        assert.match(environment[variable] ?? '', /^\$\{\w+:\?[^}]+\}$/, variable)
    })
  }

  it('passes every variable of .env to the service, except those of the container', () => {
    const { PORT, MONGODB_URI, ...passed } = services.service?.environment ?? {}
    assert.ok(PORT && MONGODB_URI)
    for (const [variable] of createConfigurationRows())
      if (!['PORT', 'HOST', 'DATA_DIR', 'MONGODB_URI'].includes(String(variable)))
        assert.match(passed[String(variable)] ?? '', new RegExp(`^[$][{]${variable}:[?-].*[}]$`), variable)
  })

  it('checks the health of all services and keeps data in named volumes', () => {
    for (const [name, { healthcheck, volumes: mounted = [] }] of Object.entries(services)) {
      assert.ok(healthcheck, name)
      for (const mount of mounted) assert.ok(Object.hasOwn(volumes, mount.split(':')[0] ?? ''), mount)
    }
  })

  it('fits one host: with a limit for each service, and database caches within the limits', () => {
    const [, promised = ''] = /All services together use at most (\d+) GB/.exec(text) ?? []
    const always = Object.values(services).filter(({ profiles }) => !profiles)
    for (const { mem_limit } of always) assert.match(mem_limit ?? '', /^\d+[mg]$/)
    const together = always.reduce((sum, { mem_limit }) => sum + megabytes(mem_limit), 0)
    assert.ok(together <= Number(promised) * 1024, `${together} MB of ${promised} GB`)
    for (const [name, { entrypoint, mem_limit }] of members) {
      const [, cache = ''] = /--wiredTigerCacheSizeGB (\S+)/.exec(entrypoint?.at(-1) ?? '') ?? []
      assert.ok(
        Number(cache) >= 0.25 && Number(cache) * 1024 <= megabytes(mem_limit) / 2,
        `${name}: ${cache}`,
      )
    }
  })

  it('runs three databases of one pinned version, not reachable from outside', () => {
    assert.equal(members.length, 3)
    for (const [name, { image, networks: on, ports, restart }] of [
      ...members,
      ['backup', services.backup as ComposeService] as const,
    ]) {
      assert.match(image ?? '', /^mongo:8\.0\.\d+$/, name)
      assert.deepEqual([on, ports, restart], [['database'], undefined, 'unless-stopped'], name)
    }
    assert.equal(networks.database?.internal, true)
  })

  it('gives each database the key as a file of its own, and requires authentication', () => {
    for (const [name, { entrypoint = [], environment = {} }] of members) {
      assert.match(environment.MONGO_KEY ?? '', /^\$\{MONGO_KEY:\?[^}]+\}$/, name)
      const [shell = '', option = '', script = ''] = entrypoint
      const bin = mkdtempSync(join(tmpdir(), 'compose-'))
      const tools = { install: 'echo "install $*"; cat', 'docker-entrypoint.sh': 'echo "$*"' }
      for (const [tool, does] of Object.entries(tools)) {
        writeFileSync(join(bin, tool), `#!/bin/sh\n${does}\n`)
        chmodSync(join(bin, tool), 0o755)
      }
      const env = { PATH: `${bin}:${process.env.PATH}`, MONGO_KEY: 'a key of $three words' }
      const { stdout } = spawnSync(shell, [option, script.replaceAll('$$', '$')], { env, encoding: 'utf8' })
      const [installed = '', key, command = ''] = stdout.split('\n')
      const file = /--keyFile (\S+)/.exec(command)?.[1] ?? ''
      assert.match(installed, /^install -m 400 -o mongodb .* (\S+)$/)
      assert.ok(file !== '' && installed.endsWith(` ${file}`), stdout)
      assert.equal(key, env.MONGO_KEY)
      assert.match(command, /^mongod --replSet records /)
      assert.doesNotMatch(command, /noauth/)
    }
  })

  describe("the first database's health check", () => {
    const [, , , , script = ''] = services.mongo1?.healthcheck?.test ?? []
    const secrets = { MONGO_ADMIN_PASSWORD: 'of the administrator', MONGO_PASSWORD: 'of the services' }

    /** @returns its actions and result, if the server greets like this and has these users */
    function check(hello: object, users: Map<string, string>): { done: unknown[]; code: number | undefined } {
      const actions: unknown[] = []
      let code: number | undefined
      const admin = {
        createUser({ user, pwd, roles }: { user: string; pwd: string; roles: unknown }) {
          if (users.has(user)) throw new Error('there is one')
          users.set(user, pwd)
          actions.push([user, roles])
        },
        auth(user: string, pwd: string) {
          if (users.get(user) !== pwd) throw new Error('unknown')
          return { ok: 1 }
        },
      }
      const db = { getSiblingDB: () => admin, hello: () => hello }
      const rs = { initiate: (set: object) => actions.push(set) }
      const quit = (exitCode: number) => {
        code = exitCode
      }
      runInNewContext(script, { db, rs, quit, process: { env: secrets } })
      return { done: JSON.parse(JSON.stringify(actions)), code }
    }

    it('creates the replica set and its users once, and is healthy when the services can log in', () => {
      const users = new Map<string, string>()
      const [initiated] = check({}, users).done as [{ _id: string; members: { host: string }[] }]
      assert.deepEqual(
        [initiated._id, initiated.members.map(({ host }) => host)],
        ['records', members.map(([name]) => `${name}:27017`)],
      )
      assert.equal(check({}, users).code, 1)
      const primary = { setName: 'records', isWritablePrimary: true, primary: 'mongo1:27017' }
      const readWrite = ['health-records', 'open-test'].map((db) => ({ role: 'readWrite', db }))
      const expectedActions = [
        ['admin', ['root']],
        ['records', readWrite],
      ]
      assert.deepEqual(check(primary, users), { done: expectedActions, code: 0 })
      assert.deepEqual(check(primary, users), { done: [], code: 0 })
      const secondary = { setName: 'records', isWritablePrimary: false }
      assert.deepEqual(check(secondary, users), { done: [], code: 1 })
    })
  })

  it('makes regular backups, checks their age, and can restore', () => {
    const { entrypoint, command, healthcheck, environment = {}, volumes: mounted } = services.backup ?? {}
    assert.deepEqual([entrypoint, command], [['bash', '/backup.sh'], ['regularly']])
    assert.deepEqual(healthcheck?.test, ['CMD', 'bash', '/backup.sh', 'recent'])
    for (const variable of ['BACKUP_HOURS', 'BACKUP_DAYS'])
      assert.match(environment[variable] ?? '', new RegExp(`^\\$\\{${variable}:-\\d+\\}$`))
    assert.deepEqual(mounted, ['backups:/backups'])
    assert.match(
      environment.MONGO_URI ?? '',
      /^mongodb:\/\/admin:.*@mongo1,mongo2,mongo3\/\?replicaSet=records/,
    )
    // The behaviour of the script is tested in test/scripts/backup.test.ts.
    assert.equal(configs.backup?.file, './scripts/backup.sh')
    assert.match(text, /docker compose run --rm backup restore FILE/)
  })

  it('has an image with a health check', () => {
    assert.match(
      readFileSync('Dockerfile', 'utf8'),
      /^HEALTHCHECK .*\\\n {2}CMD \["node", .*\/health\/ready/m,
    )
  })
})
