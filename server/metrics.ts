import type { RequestHandler } from 'express'
import type { MongoClient } from 'mongodb'
import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client'

export type Metrics = ReturnType<typeof createMetrics>

const requestSeconds = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]
const commandSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10]

/** The service's figures in a registry of their own; the process's own (event-loop lag, memory) are among them. */
export function createMetrics() {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  return {
    registry,
    requests: new Histogram({
      name: 'http_request_duration_seconds',
      help: 'Time to answer a request, by method, route template and status',
      labelNames: ['method', 'route', 'status'],
      buckets: requestSeconds,
      registers,
    }),
    commands: new Histogram({
      name: 'mongodb_command_duration_seconds',
      help: 'Time that the database took for a command, by command and outcome',
      labelNames: ['command', 'outcome'],
      buckets: commandSeconds,
      registers,
    }),
    mails: new Counter({
      name: 'mails_total',
      help: 'Attempts to hand a mail to the mail server, by outcome: sent, failed (tried again later), abandoned',
      labelNames: ['outcome'],
      registers,
    }),
    unhandled: new Counter({
      name: 'unhandled_rejections_total',
      help: 'Promises that were rejected without anyone listening: each is a defect',
      registers,
    }),
  }
}

/** Counts every command of a client that was opened with `monitorCommands`. */
export function observeCommands(client: MongoClient, metrics: Metrics): void {
  client.on('commandSucceeded', (event) =>
    metrics.commands.observe({ command: event.commandName, outcome: 'succeeded' }, event.duration / 1000),
  )
  client.on('commandFailed', (event) =>
    metrics.commands.observe({ command: event.commandName, outcome: 'failed' }, event.duration / 1000),
  )
}

/** The figures in the format of Prometheus. */
export function metricsRoute({ registry }: Metrics): RequestHandler {
  return async (_req, res) => {
    res.locals.route = '/metrics'
    res
      .set('Cache-Control', 'no-store')
      .type(registry.contentType)
      .send(await registry.metrics())
  }
}
