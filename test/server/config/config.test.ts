import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  ConfigError,
  createConfigurationRows,
  environmentVariableOf,
  readConfig,
} from '../../../server/config/config.ts'
import { requireNode } from '../../../server/config/node-version.ts'
import { openDatabase } from '../../../server/database/open-database.ts'

const dataDir = () => mkdtempSync(join(tmpdir(), 'config-'))
const secrets = {
  APPLICATION_ID: 'application-id-0001',
  REST_API_KEY: 'rest-api-key-000001',
  JAVASCRIPT_KEY: 'javascript-key-0001',
  CLIENT_KEY: 'client-key-000000001',
  DOTNET_KEY: 'dotnet-key-000000001',
  MASTER_KEY: 'master-key-00000001',
  KEY_ENCRYPTION_KEY: 'key-encryption-key-1',
  AUDIT_KEY: 'audit-key-000000001',
}

function faultsOf(env: NodeJS.ProcessEnv): string[] {
  try {
    readConfig(env, false)
  } catch (error) {
    assert.ok(error instanceof ConfigError)
    return error.faults
  }
  return []
}

describe('configuration', () => {
  it('requires nothing on a development machine', () => {
    const config = readConfig({ DATA_DIR: dataDir() }, false)
    assert.equal(config.port, 1337)
    assert.equal(config.host, '127.0.0.1')
    assert.equal(config.trustProxy, false)
    assert.equal(config.mongodbUri, undefined)
  })

  /** Stores the generated keys, like a first start. */
  async function start(env: NodeJS.ProcessEnv) {
    const { keyFile, ...config } = readConfig(env, false)
    const database = await openDatabase({ ...config, keyFile })
    await database.close()
    return config
  }

  it('generates the keys once and stores them, readable by their owner only', async () => {
    const directory = join(dataDir(), 'data')
    const first = await start({ DATA_DIR: directory })
    const { keyFile, ...second } = readConfig({ DATA_DIR: directory }, false)
    assert.deepEqual(keyFile.generatedNames, [])
    assert.equal(
      new Set([first.applicationId, first.restApiKey, first.javascriptKey, first.masterKey]).size,
      4,
    )
    assert.deepEqual(second, first)
    assert.equal(statSync(join(directory, 'keys.json')).mode & 0o777, 0o600)
    assert.equal(statSync(directory).mode & 0o777, 0o700)
  })

  it('writes no key before the database is known to be new', () => {
    const directory = dataDir()
    readConfig({ DATA_DIR: directory }, false)
    assert.deepEqual(readdirSync(directory), [])
  })

  it('generates only the keys that are not given, and never replaces a damaged file', async () => {
    const directory = dataDir()
    const config = await start({ DATA_DIR: directory, MASTER_KEY: secrets.MASTER_KEY })
    assert.equal(config.masterKey, secrets.MASTER_KEY)
    assert.deepEqual(Object.keys(JSON.parse(readFileSync(join(directory, 'keys.json'), 'utf8'))), [
      'applicationId',
      'restApiKey',
      'javascriptKey',
      'clientKey',
      'dotnetKey',
      'keyEncryptionKey',
      'auditKey',
    ])
    for (const text of ['{"appl', '[1]', '{"auditKey": 5}', '{"auditKey": "short"}', 'null']) {
      writeFileSync(join(directory, 'keys.json'), text)
      assert.throws(() => readConfig({ DATA_DIR: directory }, false), /keys\.json is damaged/, text)
      assert.equal(readFileSync(join(directory, 'keys.json'), 'utf8'), text)
    }
  })

  it('joins former keys of a variable with those of keys.json', () => {
    const directory = mkdtempSync(join(tmpdir(), 'config-'))
    const [before, other, former] = ['b', 'o', 'f'].map((letter) => letter.repeat(24)) as [
      string,
      string,
      string,
    ]
    writeFileSync(join(directory, 'keys.json'), JSON.stringify({ auditKeysBefore: `${before},${other}` }))
    const env = { DATA_DIR: directory, AUDIT_KEYS_BEFORE: `${former},${other}` }
    assert.deepEqual(readConfig(env, false).auditKeysBefore, [former, other, before])
    assert.deepEqual(readConfig({ DATA_DIR: directory }, false).auditKeysBefore, [before, other])
  })

  it('refuses a key that equals another one of keys.json', async () => {
    const directory = dataDir()
    const { restApiKey, auditKey, masterKey } = await start({ DATA_DIR: directory })
    const file = join(directory, 'keys.json')
    const faults = (env: NodeJS.ProcessEnv) => faultsOf({ DATA_DIR: directory, ...env })
    assert.deepEqual(faults({ MASTER_KEY: restApiKey }), [
      `MASTER_KEY must differ from restApiKey in ${file}`,
    ])
    assert.deepEqual(faults({ MASTER_KEY: auditKey }), [`auditKey in ${file} must differ from MASTER_KEY`])
    assert.deepEqual(faults({ READ_ONLY_MASTER_KEY: masterKey }), [
      `READ_ONLY_MASTER_KEY must differ from masterKey in ${file}`,
    ])
    assert.deepEqual(faults({ MASTER_KEY: masterKey }), [])
  })

  it('refuses a system id with colons, which separate the parts of a uid', () => {
    for (const OPENEHR_SYSTEM_ID of ['2001:db8::1', '::1'])
      assert.match(faultsOf({ ...secrets, OPENEHR_SYSTEM_ID }).join(), /^OPENEHR_SYSTEM_ID must be /)
    for (const OPENEHR_SYSTEM_ID of ['192.0.2.1', 'ehr.example.org'])
      assert.deepEqual(faultsOf({ ...secrets, OPENEHR_SYSTEM_ID }), [])
  })

  it('names a keys.json that cannot be read', () => {
    const directory = dataDir()
    mkdirSync(join(directory, 'keys.json'))
    assert.throws(
      () => readConfig({ DATA_DIR: directory }, false),
      /keys\.json cannot be read \(EISDIR\)\. It must be a file that this user can read and write\.$/,
    )
  })

  it('reports every fault at once and repeats no value', () => {
    const faults = faultsOf({
      PORT: '99999',
      PUBLIC_URL: 'ftp://example.org',
      MONGODB_URI: 'mongodb://user:hunter2@db.example.org',
      SMTP_URL: 'http://mail',
      MASTER_KEY: 'short',
      LOG_LEVEL: 'loud',
      TRUST_PROXY: 'everyone',
      DATA_DIR: '/proc/x',
    })
    assert.deepEqual(
      faults.map((fault) => fault.split(' ')[0]),
      ['PORT', 'PUBLIC_URL', 'MONGODB_URI', 'SMTP_URL', 'MASTER_KEY', 'LOG_LEVEL', 'TRUST_PROXY', 'DATA_DIR'],
    )
    assert.doesNotMatch(faults.join(), /hunter2|short|loud|everyone/)
  })

  it('accepts an address of the first administrator that an account can have', () => {
    for (const ADMIN_EMAIL of [
      'admin@localhost',
      'a@b..c',
      'a..b@example.org',
      `${'a'.repeat(250)}@example.org`,
    ])
      assert.match(faultsOf({ ...secrets, ADMIN_EMAIL }).join(), /^ADMIN_EMAIL must be /, ADMIN_EMAIL)
    assert.deepEqual(faultsOf({ ...secrets, ADMIN_EMAIL: 'admin@example.org' }), [])
  })

  it('refuses blank directories, and settings of external logins without a client id', () => {
    for (const name of ['DATA_DIR', 'CARE_PLAN_TEMPLATES', 'TEXT_PACKS'])
      assert.match(faultsOf({ ...secrets, [name]: ' ' }).join(), new RegExp(`^${name} must be a path`))
    for (const name of ['OIDC_CLIENT_SECRET', 'OIDC_AUDIENCES'])
      assert.match(faultsOf({ ...secrets, [name]: 'an-app' }).join(), /^OIDC_CLIENT_ID is required/)
    assert.match(
      faultsOf({ ...secrets, OIDC_CLIENT_ID: 'a b', OIDC_CLIENT_SECRET: 'x' }).join('\n'),
      /^OIDC_CLIENT_ID must be .*$/,
    )
    assert.deepEqual(faultsOf({ ...secrets, OIDC_CLIENT_ID: 'x', OIDC_AUDIENCES: 'an-app, another' }), [])
    assert.deepEqual(faultsOf({ ...secrets, INTERNAL_KEY_HOSTS: 'a.example, b.example' }), [])
  })

  it('refuses networks of proxies that are longer than an address', () => {
    for (const TRUST_PROXY of ['10.0.0.0/33', '2001:db8::/129', '10.0.0.0/8/8', '10.0.0.0/x'])
      assert.match(faultsOf({ ...secrets, TRUST_PROXY }).join(), /^TRUST_PROXY must be /, TRUST_PROXY)
    for (const TRUST_PROXY of ['10.0.0.0/32', '2001:db8::/128'])
      assert.deepEqual(faultsOf({ ...secrets, TRUST_PROXY }), [])
  })

  it('refuses lists with empty entries', () => {
    const lists = {
      AUDIT_KEYS_BEFORE: 'x'.repeat(16),
      CORS_ORIGINS: 'https://a.example',
      TRUST_PROXY: '10.0.0.1',
      OIDC_AUDIENCES: 'app',
      INTERNAL_KEY_HOSTS: 'a.example',
    }
    for (const [name, entry] of Object.entries(lists))
      for (const list of [',', `${entry},`, `${entry},,${entry}`])
        assert.match(
          faultsOf({ ...secrets, OIDC_CLIENT_ID: 'x', [name]: list }).join(),
          new RegExp(`^${name} must be `),
          list,
        )
  })

  it('refuses a public address below which requests could mean two operations', () => {
    for (const path of ['/med', '/MED', '/chat/', '/metrics'])
      assert.match(
        faultsOf({ ...secrets, PUBLIC_URL: `https://example.org${path}` }).join(),
        /^PUBLIC_URL must be .* not \/med, \/chat or \/metrics$/,
      )
    assert.deepEqual(faultsOf({ ...secrets, PUBLIC_URL: 'https://example.org/med/records' }), [])
  })

  it('refuses a user and a password in public addresses and origins', () => {
    for (const name of ['PUBLIC_URL', 'APP_URL', 'TERMS_URL', 'CORS_ORIGINS'])
      for (const user of ['ann', 'ann:secret', ':secret']) {
        const address = `https://${user}@example.org`
        const faults = faultsOf({ ...secrets, [name]: address }).join()
        assert.match(faults, new RegExp(`^${name} must be `))
        assert.doesNotMatch(faults, /secret/)
      }
  })

  it("refuses a MongoDB address with weaker guarantees than the service's own", () => {
    const faultsWith = (options: string) =>
      faultsOf({ ...secrets, MONGODB_URI: `mongodb://a,b/records?${options}` })
    for (const options of ['w=1', 'journal=false', 'w=majority&j=false', 'readPreference=secondary', 'W=0'])
      assert.match(
        faultsWith(options).join(),
        /^MONGODB_URI must not contain (w|journal|j|readPreference): the service/i,
        options,
      )
    assert.deepEqual(faultsWith('w=majority&journal=true&readPreference=primary&replicaSet=rs'), [])
  })

  it('requires every secret and a mail server in production', () => {
    const faults = faultsOf({ NODE_ENV: 'production', DATA_DIR: dataDir() })
    for (const name of [...Object.keys(secrets), 'SMTP_URL', 'PUBLIC_URL'])
      assert.ok(
        faults.some((fault) => fault.startsWith(`${name} is required`)),
        name,
      )
    assert.deepEqual(
      faultsOf({
        NODE_ENV: 'production',
        SMTP_URL: 'smtp://mail:1025',
        PUBLIC_URL: 'https://records.example.org',
        ...secrets,
      }),
      [],
    )
  })

  it('names the directory that cannot be written, and the reason', () => {
    const file = join(dataDir(), 'file')
    writeFileSync(file, '')
    for (const [directory, why] of [
      [file, /^DATA_DIR must not be .*, which is a file; name a writable directory/],
      [join(file, 'below'), /^DATA_DIR must not be .*: it cannot be created/],
      ['/proc/x', /^DATA_DIR must not be \/proc\/x: .*; name a writable directory/],
    ] as const) {
      const faults = faultsOf({ DATA_DIR: directory })
      assert.equal(faults.length, 1, directory)
      assert.match(faults[0] ?? '', why)
    }
  })

  it('accepts the application id of an existing app', () => {
    assert.equal(
      readConfig({ APPLICATION_ID: 'my app'.replace(' ', '.'), DATA_DIR: dataDir() }, false).applicationId,
      'my.app',
    )
    assert.equal(faultsOf({ APPLICATION_ID: 'x'.repeat(201) }).length, 1)
  })

  it('accepts the Node versions of package.json, and refuses others with a message', () => {
    for (const version of ['20.19.0', '22.13.1', '24.11.0']) requireNode(version)
    for (const version of ['18.20.4', '20.10.0', '22.5.0', '23.1.0', '24.10.9', '26.0.0'])
      assert.throws(
        () => requireNode(version),
        /^Error: Node [\d.]+ is not supported\. Install 20\.19, 22\.13, 24\.11 /,
      )
  })

  it('refuses one secret for two purposes', () => {
    const faults = faultsOf({ ...secrets, REST_API_KEY: secrets.MASTER_KEY })
    assert.deepEqual(faults, ['MASTER_KEY must differ from REST_API_KEY'])
  })

  it('separates the open test environment: port and data', () => {
    const main = readConfig({ ...secrets }, false)
    const open = readConfig({ ...secrets }, true)
    assert.notEqual(open.port, main.port)
    assert.notEqual(open.dataDir, main.dataDir)
    assert.equal(open.open, true)
  })

  it('reads several MongoDB hosts, proxies and origins', () => {
    const config = readConfig(
      {
        ...secrets,
        MONGODB_URI: 'mongodb://a:1,b:2,c/records?replicaSet=rs',
        TRUST_PROXY: '10.0.0.0/8, loopback',
        CORS_ORIGINS: 'https://app.example.org, http://localhost:3000',
      },
      false,
    )
    assert.equal(config.mongodbUri, 'mongodb://a:1,b:2,c/records?replicaSet=rs')
    assert.deepEqual(config.trustProxy, ['10.0.0.0/8', 'loopback'])
    assert.deepEqual(config.corsOrigins, ['https://app.example.org', 'http://localhost:3000'])
  })

  it('is described in the README row by row', () => {
    const rows = readFileSync('README.md', 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('| `'))
      .map((line) =>
        line
          .split('|')
          .slice(1, -1)
          .map((cell) => cell.trim()),
      )
    assert.deepEqual(
      rows,
      createConfigurationRows().map(([variable, kind, fallback, about]) => [
        `\`${variable}\``,
        about,
        kind,
        fallback,
      ]),
    )
    assert.equal(environmentVariableOf('restApiKey'), 'REST_API_KEY')
  })
})
