import { createRequire } from 'node:module'
import type { Express } from 'express'
import type { Db } from 'mongodb'
import type { Logger } from 'pino'
import { syncIndexes } from '../../records/store/documents/indexes.ts'
import { separateIncludes } from './adapter/includes.ts'
import { decodeQueryKeys } from './adapter/query-keys.ts'
import { type Configurations, shareConfiguration } from './adapter/request/request-database.ts'
import { loadParseServer } from './internals.ts'
import { createParseOptions, type ParseConfig, type ParseDependencies } from './options.ts'
import { createClassesWithoutReading, skipUnchangedClasses, verifySchema } from './schema-check.ts'

/**
 * Starts Parse Server on the database; at most one per process, because its schema cache is shared.
 * @throws Error when the native bcrypt is missing or the class migration failed
 */
export async function startParse(
  config: ParseConfig,
  publicUrl: string,
  { adapter, db }: { adapter: object; db: Db },
  log: Logger,
  parts: Omit<ParseDependencies, 'databaseAdapter'>,
): Promise<Express> {
  requireNativeBcrypt()
  const { ParseServer, migration, query, ...modules } = await loadParseServer()
  ignoreNonTextAppIds(modules.apps)
  createClassesWithoutReading(migration)
  skipUnchangedClasses(migration)
  decodeQueryKeys(modules.conversion)
  separateIncludes(query)
  const options = createParseOptions(config, publicUrl, log, { ...parts, databaseAdapter: adapter })
  const parse = ParseServer(options as never)
  await parse.start()
  if (!config.open) {
    await verifySchema(parse.config.databaseController, parts.definitions)
    await shareConfiguration(modules, config.applicationId)
    // Parse would look for files in every property that it returns, and no class has any.
    parse.config.filesController.expandFilesInObject = async () => {}
  }
  ignoreReplacedTokens(parse.config.userController)
  await createSessionIndex(db)
  return parse.app
}

/** A body may contain any `_ApplicationId`. Parse looks it up unchecked, and fails for one that is not a string. */
function ignoreNonTextAppIds(apps: Configurations['apps']): void {
  const { get } = apps
  apps.get = (id) => (typeof id === 'string' ? get.call(apps, id) : null)
}

interface VerificationMails {
  sendVerificationEmail(...args: unknown[]): Promise<unknown>
}

/**
 * Parse does not wait for this mail. It rejects with undefined if another request has replaced the token meanwhile, which sends
 * a mail of its own.
 */
function ignoreReplacedTokens(userController: VerificationMails): void {
  const send = userController.sendVerificationEmail.bind(userController)
  userController.sendVerificationEmail = (...args) =>
    send(...args).catch((error: unknown) => {
      if (error !== undefined) throw error
    })
}

/** Without native bcrypt Parse uses JavaScript, where eight logins block the event loop for most of a second. */
function requireNativeBcrypt(): void {
  createRequire(createRequire(import.meta.url).resolve('parse-server'))('@node-rs/bcrypt')
}

/** Parse looks up a session by its token in every request, but creates no index. */
async function createSessionIndex(db: Db): Promise<void> {
  await syncIndexes(db.collection('_Session'), [
    { key: { _session_token: 1 }, name: 'session_token', unique: true, sparse: true },
    { key: { _p_user: 1 }, name: 'session_user' },
    { key: { expiresAt: 1 }, name: 'session_expiry', expireAfterSeconds: 0 },
  ])
}
