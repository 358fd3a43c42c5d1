import { type Logger, pino } from 'pino'
import type { Config } from '../config/config.ts'

export type Log = Logger

/** The service's log: JSON lines on stdout. What a client sent never goes into it. */
export function createLog(config: Pick<Config, 'logLevel' | 'open'>): Log {
  return pino({
    level: config.logLevel,
    base: config.open ? { environment: 'open-test' } : null,
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: describeError },
  })
}

/**
 * What may be logged of an error: its name, its code and where it was thrown. The messages of database errors
 * quote documents (`dup key: { email: "…" }`), those of parsers quote the body, so a message is kept only
 * when the error is not of their making.
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
    stack: frames?.join('\n'),
  }
}
