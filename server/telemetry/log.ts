import { type Logger, pino } from 'pino'
import { isFullDisk } from '../../records/store/documents/outage.ts'
import type { Config } from '../config/config.ts'

export type Log = Logger

/**
 * Creates the log: JSON lines, which never contain data sent by clients.
 * @param output standard output, or that for errors in a command, whose results are on standard output
 */
export function createLog(config: Pick<Config, 'logLevel' | 'open'>, output: 1 | 2 = 1): Log {
  const options = {
    level: config.logLevel,
    base: config.open ? { environment: 'open-test' } : null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (level: string) => ({ level }) },
    serializers: { err: describeError },
  }
  return pino(options, pino.destination({ dest: output, sync: true }))
}

/** Errors of an AggregateError that are logged; the others are mostly like them. */
const MAX_LOGGED_ERRORS = 5

/**
 * Selects the parts of an error that may be logged: name, code and location. Messages of database errors quote
 * documents (`dup key: { email: "…" }`), those of parsers quote the body. So a message is logged only for
 * other errors.
 */
function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { name: typeof error }
  const { code } = error as { code?: unknown }
  const quotesInput = /^(Mongo|BSON|BulkWrite|Syntax|URI)/.test(error.name)
  const frames = error.stack?.split('\n').filter((line) => /^\s+at /.test(line))
  return {
    name: error.name,
    ...(code === undefined ? {} : { code }),
    ...(quotesInput ? {} : { message: error.message }),
    ...(isFullDisk(error) ? { message: 'the disk of the database is full' } : {}),
    stack: frames?.join('\n'),
    ...(error instanceof AggregateError && {
      errors: error.errors.slice(0, MAX_LOGGED_ERRORS).map(describeError),
    }),
  }
}
