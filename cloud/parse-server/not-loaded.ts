import { createRequire, Module } from 'node:module'

/**
 * What Parse Server loads, and this service never uses: GraphQL, Postgres, Redis, pushes, and logins by other services
 * (the gate refuses their data). All this takes nearly half of the time that it takes to load.
 */
const unused = [
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

/** Stands for whatever such a module exports; a call of it fails. */
class NotLoaded {}

const exported = new Proxy(
  {},
  {
    get: (_target, name) => (name === '__esModule' ? true : NotLoaded),
  },
)

/** Parse Server, which finds nothing in the place of what is never used. */
export function requireParseServer(): typeof import('parse-server') {
  const require = createRequire(createRequire(import.meta.url).resolve('parse-server/package.json'))
  for (const name of unused) {
    const path = require.resolve(name)
    const absent = new Module(path)
    absent.exports = exported
    absent.loaded = true
    require.cache[path] ??= absent
  }
  // The one that sends pushes is loaded even where nobody asks for pushes; this is what it extends.
  const { PushAdapter } = require('parse-server/lib/Adapters/Push/PushAdapter.js')
  require('parse-server/lib/Adapters/AdapterLoader.js').loadModule = async () => PushAdapter
  return require('parse-server')
}
