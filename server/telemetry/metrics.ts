import type { RequestHandler } from 'express'
import type { ConnectionCheckedOutEvent, MongoClient } from 'mongodb'
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
      help: 'Time that a command to the database took, the way there and back included',
      buckets: commandSeconds,
      registers,
    }),
    mails: new Counter({
      name: 'mails_total',
      help: 'Attempts to hand a mail to the mail server, by outcome: sent, failed (tried again later), abandoned, dropped',
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

/**
 * Times every command of a client by how long it holds its connection. The driver's own monitoring of commands tells
 * their names too, but parses each reply a second time: a tenth of what a list costs.
 */
export function observeCommands(client: MongoClient, metrics: Metrics): void {
  const begun = new Map<string, () => void>()
  const key = ({ address, connectionId }: ConnectionEvent) => `${address}/${connectionId}`
  client.on('connectionCheckedOut', (event) => begun.set(key(event), metrics.commands.startTimer()))
  client.on('connectionCheckedIn', (event) => {
    begun.get(key(event))?.()
    begun.delete(key(event))
  })
}

type ConnectionEvent = Pick<ConnectionCheckedOutEvent, 'address' | 'connectionId'>

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
