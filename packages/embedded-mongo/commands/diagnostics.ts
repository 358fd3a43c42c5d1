/** Commands by which drivers, monitors and administrators query the server itself. */
import type { Document } from 'bson'
import { writeBackup } from '../storage/disk/backup.ts'
import { MAX_DOCUMENT_BYTES, toNumber } from '../values/bson-values.ts'
import { fail } from '../values/errors.ts'
import type { Command, CommandContext } from './context.ts'

export const MONGODB_VERSION = '7.0.0'

/**
 * Presents a replica set of one, as its primary: drivers retry only writes that they send to a replica set.
 */
const hello: Command = {
  run({ engine: { address, applications }, command, connectionId }) {
    const name = command.client?.application?.name
    if (typeof name === 'string') applications.set(connectionId, name)
    return {
      helloOk: true,
      ismaster: true,
      isWritablePrimary: true,
      secondary: false,
      setName: 'embedded',
      setVersion: 1,
      hosts: [address],
      primary: address,
      me: address,
      maxBsonObjectSize: MAX_DOCUMENT_BYTES,
      maxMessageSizeBytes: 48_000_000,
      maxWriteBatchSize: 100_000,
      localTime: new Date(),
      logicalSessionTimeoutMinutes: 30,
      connectionId,
      minWireVersion: 0,
      maxWireVersion: 21,
      readOnly: false,
      ok: 1,
    }
  },
}

/** The client's address, as this end of the connection sees it. */
const whatsmyuri: Command = {
  run: ({ engine: { clients }, connectionId }) => ({ you: clients.get(connectionId) ?? '', ok: 1 }),
}

const ping: Command = { run: () => ({ ok: 1 }) }

const buildInfo: Command = {
  run: () => ({
    version: MONGODB_VERSION,
    versionArray: [7, 0, 0, 0],
    modules: [],
    bits: 64,
    maxBsonObjectSize: MAX_DOCUMENT_BYTES,
    ok: 1,
  }),
}

const serverStatus: Command = {
  run: ({ engine, connectionId }) => ({
    version: MONGODB_VERSION,
    process: 'embedded-mongo',
    pid: process.pid,
    uptime: process.uptime(),
    localTime: new Date(),
    mem: { resident: Math.round(process.memoryUsage.rss() / 2 ** 20) },
    connections: { current: engine.clients.size, available: 10_000, totalCreated: connectionId },
    metrics: { cursor: { open: { total: engine.cursors.size } } },
    storageEngine: { name: 'lmdb' },
    ok: 1,
  }),
}

const getCmdLineOpts: Command = { run: () => ({ argv: process.argv, parsed: {}, ok: 1 }) }

const connectionStatus: Command = {
  run: () => ({ authInfo: { authenticatedUsers: [], authenticatedUserRoles: [] }, ok: 1 }),
}

const parameters = ({ engine }: CommandContext): Document => ({
  featureCompatibilityVersion: { version: '7.0' },
  enableTestCommands: false,
  ttlMonitorSleepSecs: engine.ttlSleepSeconds,
  transactionLifetimeLimitSeconds: engine.transactions.lifetimeMs / 1000,
})

const getParameter: Command = {
  run(context) {
    const isAll = context.command.getParameter === '*'
    const namedParameters = Object.entries(parameters(context)).filter(
      ([name]) => isAll || name in context.command,
    )
    return namedParameters.length > 0
      ? { ...Object.fromEntries(namedParameters), ok: 1 }
      : fail(72, 'no option found to get')
  },
}

const setParameter: Command = {
  run(context) {
    const { engine, command } = context
    const name = ['ttlMonitorSleepSecs', 'transactionLifetimeLimitSeconds'].find((key) => key in command)
    const seconds = toNumber(name && command[name])
    if (!name || !(seconds > 0)) return fail(72, 'setParameter does not support this parameter or value')
    const was = parameters(context)[name]
    if (name === 'ttlMonitorSleepSecs') engine.ttlSleepSeconds = seconds
    else engine.transactions.lifetimeMs = seconds * 1000
    return { was, ok: 1 }
  },
}

/**
 * The engine's own command: copies all databases into an empty directory of this machine, while other
 * commands run.
 */
const backup: Command = {
  options: 'directory',
  async run({ engine, db, command }) {
    if (db !== 'admin') fail(13, 'backup may only be run against the admin database.')
    if (typeof command.directory !== 'string')
      return fail(14, "BSON field 'backup.directory' must be a string")
    const receipt = await writeBackup(command.directory, (file) => engine.storage.copyTo(file))
    return { ...receipt, ok: 1 }
  },
}

export const diagnostics: Record<string, Command> = {
  hello,
  isMaster: hello,
  ismaster: hello,
  ping,
  whatsmyuri,
  buildInfo,
  getCmdLineOpts,
  buildinfo: buildInfo,
  serverStatus,
  connectionStatus,
  getParameter,
  setParameter,
  backup,
}
