import { createRequire, Module } from 'node:module'

/**
 * Modules that Parse Server loads and this service never uses: GraphQL, Postgres, Redis, push, and
 * third-party logins (the middleware rejects their data). They would take nearly half of its loading time.
 */
const STUBBED_MODULES = [
  'parse-server/lib/Adapters/Storage/Postgres/PostgresStorageAdapter.js',
  'parse-server/lib/GraphQL/ParseGraphQLServer.js',
  'graphql',
  'jsonwebtoken',
  'jwks-rsa',
  'ldapjs',
  'node-forge',
  'rate-limit-redis',
  'redis',
]

/** Replaces any export of such a module; a call fails. */
class ExportStub {}

const moduleStub = new Proxy({}, { get: (_target, name) => (name === '__esModule' ? true : ExportStub) })

/** Loads Parse Server with the module stubs. */
export function requireParseServerWithStubs(): typeof import('parse-server') {
  const require = createRequire(createRequire(import.meta.url).resolve('parse-server/package.json'))
  for (const name of STUBBED_MODULES) {
    const path = require.resolve(name)
    const absent = new Module(path)
    absent.exports = moduleStub
    absent.loaded = true
    require.cache[path] ??= absent
  }
  // The push sender is always loaded; it extends this class.
  const { PushAdapter } = require('parse-server/lib/Adapters/Push/PushAdapter.js')
  require('parse-server/lib/Adapters/AdapterLoader.js').loadModule = async () => PushAdapter
  return require('parse-server')
}
