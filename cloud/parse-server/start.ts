import { createRequire } from 'node:module'
import type { Express } from 'express'
import type { Db } from 'mongodb'
import type { Logger } from 'pino'
import { makeIndexes } from '../../records/store/documents/indexes.ts'
import { type Apps, loadParseServer } from './internals.ts'
import { type ParseConfig, type ParseParts, parseOptions } from './options.ts'
import { migrateChanged, verifySchema } from './schema-check.ts'

/**
 * Starts the genuine Parse Server on the database; at most one per process, since its schema cache is shared.
 * @throws Error when the native bcrypt is missing or the classes could not be brought up to date
 */
export async function startParse(
  config: ParseConfig,
  publicUrl: string,
  { adapter, db }: { adapter: object; db: Db },
  log: Logger,
  parts: Omit<ParseParts, 'databaseAdapter'>,
): Promise<Express> {
  requireNativeBcrypt()
  const { ParseServer, apps, migration } = await loadParseServer()
  knowByText(apps)
  migrateChanged(migration)
  const options = parseOptions(config, publicUrl, log, { ...parts, databaseAdapter: adapter })
  const parse = ParseServer(options as never)
  await parse.start()
  if (!config.open) await verifySchema(parse.config.databaseController, parts.definitions)
  await indexSessions(db)
  return parse.app
}

/** A body may hold any value as its `_ApplicationId`; Parse looks it up as it is, and fails on one that has no text. */
function knowByText(apps: Apps): void {
  const { get } = apps
  apps.get = (id) => (typeof id === 'string' ? get.call(apps, id) : null)
}

/** Parse falls back to bcrypt in JavaScript, which stalls the event loop for most of a second at eight logins. */
function requireNativeBcrypt(): void {
  createRequire(createRequire(import.meta.url).resolve('parse-server'))('@node-rs/bcrypt')
}

/** Parse looks a session up by its token in every request, and indexes none of it. */
async function indexSessions(db: Db): Promise<void> {
  await makeIndexes(db.collection('_Session'), [
    { key: { _session_token: 1 }, name: 'session_token', unique: true, sparse: true },
    { key: { _p_user: 1 }, name: 'session_user' },
    { key: { expiresAt: 1 }, name: 'session_expiry', expireAfterSeconds: 0 },
  ])
}
