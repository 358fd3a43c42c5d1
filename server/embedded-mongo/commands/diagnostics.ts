/** What a driver, a monitor or an administrator asks about the server itself. */
import type { Document } from 'bson'
import { fail } from '../errors.ts'
import { splitPipeline } from '../pipeline.ts'
import type { Plan } from '../planner.ts'
import { type Examined, find, prepare, type Query } from '../query.ts'
import { isNumeric, isObject, toNumber } from '../values.ts'
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
    gitVersion: 'embedded-mongo',
    modules: [],
    storageEngines: ['lmdb'],
    javascriptEngine: 'none',
    bits: 64,
    debug: false,
    maxBsonObjectSize: 16 * 1024 * 1024,
    ok: 1,
  }),
}

const serverStatus: Command = {
  run({ engine, connectionId }) {
    const uptimeMillis = Date.now() - engine.startedAt
    return {
      host: '127.0.0.1',
      version: VERSION,
      process: 'embedded-mongo',
      pid: process.pid,
      uptime: Math.floor(uptimeMillis / 1000),
      uptimeMillis,
      localTime: new Date(),
      mem: { resident: Math.round(process.memoryUsage.rss() / 2 ** 20) },
      connections: { current: engine.connections, available: 10_000, totalCreated: connectionId },
      metrics: { cursor: { open: { total: engine.cursors.size } } },
      storageEngine: { name: 'lmdb' },
      ok: 1,
    }
  },
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
    const known = parameters(context)
    if (context.command.getParameter === '*') return { ...known, ok: 1 }
    const found = Object.entries(known).filter(([name]) => name in context.command)
    return found.length > 0 ? { ...Object.fromEntries(found), ok: 1 } : fail(72, 'no option found to get')
  },
}

const setParameter: Command = {
  run(context) {
    const { engine, command } = context
    const { ttlMonitorSleepSecs, transactionLifetimeLimitSeconds } = command
    const seconds = toNumber(ttlMonitorSleepSecs ?? transactionLifetimeLimitSeconds)
    if (!(seconds > 0))
      return fail(
        72,
        'only ttlMonitorSleepSecs and transactionLifetimeLimitSeconds can be set, to a positive number',
      )
    const name = ttlMonitorSleepSecs === undefined ? 'transactionLifetimeLimitSeconds' : 'ttlMonitorSleepSecs'
    const was = parameters(context)[name]
    if (name === 'ttlMonitorSleepSecs') engine.ttlSleepSeconds = seconds
    else engine.transactions.lifetimeMs = seconds * 1000
    return { was, ok: 1 }
  },
}

const explainable = [
  'find',
  'aggregate',
  'count',
  'distinct',
  'update',
  'delete',
  'findAndModify',
  'findandmodify',
]

/** The part of a command that a plan is made for. */
const explained = (command: Document, name: string): Query => {
  const [statement] = Array.isArray(command.updates ?? command.deletes)
    ? (command.updates ?? command.deletes)
    : [command]
  if (name === 'aggregate')
    return { ...splitPipeline(command.pipeline).query, collation: command.collation, hint: command.hint }
  const { sort, skip, limit, collation, hint } = statement as Document
  const numbers = {
    ...(isNumeric(skip) && { skip: toNumber(skip) }),
    ...(isNumeric(limit) && { limit: toNumber(limit) }),
  }
  return {
    filter: statement.filter ?? statement.query ?? statement.q ?? {},
    sort,
    collation,
    hint,
    ...numbers,
  }
}

const explain: Command = {
  options: ['verbosity'],
  run(context) {
    const inner = context.command.explain
    const name = isObject(inner) ? Object.keys(inner)[0] : undefined
    if (!name || !explainable.includes(name))
      return fail(59, `Explain failed due to unknown command: ${name}`)
    return explainCommand(context, inner as Document, name, context.command.verbosity)
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
  const queryPlanner = { plannerVersion: 1, namespace: ns, indexFilterSet: false, rejectedPlans: [] }
  if (!collection) return { queryPlanner: { ...queryPlanner, winningPlan: { stage: 'EOF' } }, ok: 1 }
  const query = explained(inner, name)
  const prepared = prepare(collection, query)
  const { plan } = prepared
  const scan = scanStage(plan)
  const winningPlan = plan.ordered ? scan : { stage: 'SORT', sortPattern: query.sort, inputStage: scan }
  const reply: Document = {
    explainVersion: '1',
    queryPlanner: { ...queryPlanner, parsedQuery: query.filter, winningPlan },
  }
  if (verbosity !== 'queryPlanner') reply.executionStats = execute(context, collection, query, prepared)
  return { ...reply, serverInfo: { version: VERSION }, ok: 1 }
}

const execute = (
  { view }: Context,
  collection: Parameters<typeof find>[1],
  query: Query,
  prepared: ReturnType<typeof prepare>,
): Document => {
  const examined: Examined = { keys: 0, documents: 0 }
  const started = Date.now()
  let nReturned = 0
  for (const _ of find(view, collection, query, prepared, examined)) nReturned++
  return {
    executionSuccess: true,
    nReturned,
    executionTimeMillis: Date.now() - started,
    totalKeysExamined: examined.keys,
    totalDocsExamined: examined.documents,
  }
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
