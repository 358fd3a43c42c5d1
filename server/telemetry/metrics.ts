import type { RequestHandler } from 'express'
import type { ConnectionCheckedOutEvent, Db, MongoClient } from 'mongodb'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import packageJson from '../../package.json' with { type: 'json' }
import { type Audit, entriesOf } from '../../records/store/audit/trail.ts'

export type Metrics = ReturnType<typeof createMetrics>

const requestSeconds = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]
const commandSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10]

/** The service's figures in a registry of their own; the process's own (event-loop lag, memory) are among them. */
export function createMetrics() {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const build = {
    name: 'health_record_service_build_info',
    help: 'What runs: always 1',
    labelNames: ['version', 'node'] as const,
  }
  new Gauge({ ...build, registers: [registry] }).set(
    { version: packageJson.version, node: process.version },
    1,
  )
  return { registry, ...durations(registry), ...counts(registry) }
}

const durations = (registry: Registry) => {
  const histogram = (name: string, help: string, buckets: number[], ...labelNames: string[]) =>
    new Histogram({ name, help, buckets, labelNames, registers: [registry] })
  return {
    requests: histogram(
      'http_request_duration_seconds',
      'Time to answer a request, by method, route template and status',
      requestSeconds,
      'method',
      'route',
      'status',
    ),
    commands: histogram(
      'mongodb_command_duration_seconds',
      'Time that a command to the database took, the way there and back included',
      commandSeconds,
    ),
    auditSeconds: histogram(
      'audit_write_duration_seconds',
      'How long an answer waits until its entries are in the audit',
      commandSeconds,
    ),
  }
}

const counts = (registry: Registry) => {
  const counter = (name: string, help: string, ...labelNames: string[]) =>
    new Counter({ name, help, labelNames, registers: [registry] })
  return {
    mails: counter(
      'mails_total',
      'Attempts to hand a mail to the mail server, by outcome: sent, failed (tried again later), abandoned, dropped',
      'outcome',
    ),
    refused: counter(
      'requests_refused_total',
      'Refused requests by reason: the code of the problem, or the code of the class family',
      'reason',
    ),
    failedLogins: counter(
      'logins_failed_total',
      'Logins that failed, by reason: wrong (address or password), locked (too many wrong ones)',
      'reason',
    ),
    unhandled: counter(
      'unhandled_rejections_total',
      'Promises that were rejected without anyone listening: each is a defect',
    ),
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

/** A figure that is looked up when somebody asks for the figures; while it cannot be, there is none. */
export function observeFigure(
  { registry }: Metrics,
  about: { name: string; help: string },
  look: () => Promise<number>,
): void {
  new Gauge({
    ...about,
    registers: [registry],
    async collect() {
      const figure = await look().catch(() => undefined)
      if (figure === undefined) this.reset()
      else this.set(figure)
    },
  })
}

/** The same audit, counted and timed. */
export function observeAudit(audit: Audit, db: Db, metrics: Metrics): Audit {
  const entries = { name: 'audit_entries', help: 'Entries of the audit' }
  observeFigure(metrics, entries, () => entriesOf(db).estimatedDocumentCount())
  return {
    ...audit,
    async record(...accesses) {
      const end = metrics.auditSeconds.startTimer()
      await audit.record(...accesses)
      end()
    },
  }
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
