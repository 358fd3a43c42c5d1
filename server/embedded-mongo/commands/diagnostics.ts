/** What a driver, a monitor or an administrator asks about the server itself. */
import type { Document } from 'bson'
import { fail } from '../errors.ts'
import { splitPipeline } from '../pipeline.ts'
import type { Plan } from '../planner.ts'
import { type Examined, find, prepare, type Query } from '../query.ts'
import { integer, isObject, toNumber } from '../values.ts'
import { type Command, type Context, target } from './context.ts'

const VERSION = '7.0.0'

const hello: Command = {
  run: ({ connectionId }) => ({
    helloOk: true,
    ismaster: true,
    isWritablePrimary: true,
    maxBsonObjectSize: 16 * 1024 * 1024,
    maxMessageSizeBytes: 48_000_000,
    maxWriteBatchSize: 100_000,
    localTime: new Date(),
    logicalSessionTimeoutMinutes: 30,
    connectionId,
    minWireVersion: 0,
    maxWireVersion: 21,
    readOnly: false,
    ok: 1,
  }),
}

const ping: Command = { run: () => ({ ok: 1 }) }

const buildInfo: Command = {
  run: () => ({
    version: VERSION,
    versionArray: [7, 0, 0, 0],
    modules: [],
    bits: 64,
    maxBsonObjectSize: 16 * 1024 * 1024,
    ok: 1,
  }),
}

const serverStatus: Command = {
  run: ({ engine, connectionId }) => ({
    version: VERSION,
    process: 'embedded-mongo',
    pid: process.pid,
    uptime: process.uptime(),
    localTime: new Date(),
    mem: { resident: Math.round(process.memoryUsage.rss() / 2 ** 20) },
    connections: { current: engine.connections, available: 10_000, totalCreated: connectionId },
    metrics: { cursor: { open: { total: engine.cursors.size } } },
    storageEngine: { name: 'lmdb' },
    ok: 1,
  }),
}

const connectionStatus: Command = {
  run: () => ({ authInfo: { authenticatedUsers: [], authenticatedUserRoles: [] }, ok: 1 }),
}

const parameters = ({ engine }: Context): Document => ({
  featureCompatibilityVersion: { version: '7.0' },
  ttlMonitorSleepSecs: engine.ttlSleepSeconds,
  transactionLifetimeLimitSeconds: engine.transactions.lifetimeMs / 1000,
})

const getParameter: Command = {
  run(context) {
    const found = Object.entries(parameters(context)).filter(([name]) => name in context.command)
    return found.length > 0 ? { ...Object.fromEntries(found), ok: 1 } : fail(72, 'no option found to get')
  },
}

const setParameter: Command = {
  run(context) {
    const { engine, command } = context
    const name = ['ttlMonitorSleepSecs', 'transactionLifetimeLimitSeconds'].find((key) => key in command)
    const seconds = toNumber(name && command[name])
    if (!name || !(seconds > 0)) return fail(72, 'no such parameter can be set to this value')
    const was = parameters(context)[name]
    if (name === 'ttlMonitorSleepSecs') engine.ttlSleepSeconds = seconds
    else engine.transactions.lifetimeMs = seconds * 1000
    return { was, ok: 1 }
  },
}

const explainable = 'find aggregate count distinct update delete findAndModify findandmodify'.split(' ')

/** The part of a command that a plan is made for. */
const explained = (command: Document, name: string): Query => {
  const { hint, collation } = command
  if (name === 'aggregate') return { ...splitPipeline(command.pipeline).query, collation, hint }
  const { filter, query, q, sort, skip, limit } = (command.updates ?? command.deletes)?.[0] ?? command
  return {
    filter: filter ?? query ?? q ?? {},
    sort,
    collation,
    hint,
    skip: integer(skip, 'skip', 0),
    limit: integer(limit, 'limit', 0),
  }
}

const explain: Command = {
  options: 'verbosity',
  run(context) {
    const inner = context.command.explain
    const name = isObject(inner) ? (Object.keys(inner)[0] ?? '') : ''
    if (!explainable.includes(name)) return fail(59, `Explain failed due to unknown command: ${name}`)
    return explainCommand(context, inner, name, context.command.verbosity)
  },
}

const scanStage = ({ index, reverse, branches }: Plan): Document => {
  const direction = reverse ? 'backward' : 'forward'
  if (branches) return { stage: 'OR', inputStages: branches.map(scanStage) }
  if (!index) return { stage: 'COLLSCAN', direction }
  const { name: indexName, multikey: isMultiKey, spec } = index
  const inputStage = { stage: 'IXSCAN', keyPattern: spec.key, indexName, isMultiKey, direction }
  return { stage: 'FETCH', inputStage }
}

/** Plans the query and, unless only the plan is wanted, runs it to count what it looks at. */
export const explainCommand = (
  context: Context,
  inner: Document,
  name: string,
  verbosity: unknown,
): Document => {
  const { ns, collection } = target({ ...context, command: inner }, name)
  if (!collection) return { queryPlanner: { namespace: ns, winningPlan: { stage: 'EOF' } }, ok: 1 }
  const query = explained(inner, name)
  const prepared = prepare(collection, query)
  const scan = scanStage(prepared.plan)
  const winningPlan = prepared.plan.ordered
    ? scan
    : { stage: 'SORT', sortPattern: query.sort, inputStage: scan }
  const queryPlanner = { namespace: ns, parsedQuery: query.filter, winningPlan, rejectedPlans: [] }
  if (verbosity === 'queryPlanner') return { queryPlanner, ok: 1 }
  const examined: Examined = { keys: 0, documents: 0 }
  const nReturned = [...find(context.view, collection, query, prepared, examined)].length
  const executionStats = {
    nReturned,
    totalKeysExamined: examined.keys,
    totalDocsExamined: examined.documents,
  }
  return { queryPlanner, executionStats, ok: 1 }
}

export const diagnostics: Record<string, Command> = {
  hello,
  isMaster: hello,
  ismaster: hello,
  ping,
  buildInfo,
  buildinfo: buildInfo,
  serverStatus,
  connectionStatus,
  getParameter,
  setParameter,
  explain,
}
