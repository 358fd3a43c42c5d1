import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { configurationRows, readConfig } from '../../../server/config/config.ts'

interface ComposeService {
  build?: string | object
  command?: string[]
  environment?: Record<string, string>
  healthcheck?: unknown
  volumes?: string[]
}

const { services, volumes } = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }) as {
  services: Record<string, ComposeService>
  volumes: Record<string, unknown>
}
const ours = Object.entries(services).filter(([, { build }]) => build === '.')

/** `${NAME:?why}` with something of the right form in its place. */
const filledIn = (text: string): string =>
  text.replace(/\$\{(\w+):\?[^}]*\}/g, (_, name: string) =>
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
    it(`sets for ${name} what the configuration knows, to what it accepts in production`, () => {
      const known = configurationRows().map(([variable]) => variable)
      for (const variable of Object.keys(environment)) assert.ok(known.includes(variable), variable)
      const env = Object.fromEntries(
        Object.entries(environment).map(([variable, text]) => [variable, filledIn(text)]),
      )
      const config = readConfig({ NODE_ENV: 'production', ...env }, command.includes('open'))
      assert.equal(config.production, true)
    })

    it(`holds no secret for ${name}`, () => {
      for (const variable of ['APPLICATION_ID', 'REST_API_KEY', 'JAVASCRIPT_KEY', 'MASTER_KEY', 'AUDIT_KEY'])
        assert.match(environment[variable] ?? '', /^\$\{\w+:\?[^}]+\}$/, variable)
    })
  }

  it('watches the health of everything and keeps data in named volumes', () => {
    for (const [name, { healthcheck, volumes: mounted = [] }] of Object.entries(services)) {
      assert.ok(healthcheck, name)
      for (const mount of mounted) assert.ok(Object.hasOwn(volumes, mount.split(':')[0] ?? ''), mount)
    }
  })
})
