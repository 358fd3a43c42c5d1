import { setTimeout as sleep } from 'node:timers/promises'
import type { RequestHandler } from 'express'
import type { ConnectionCheckedOutEvent, Db, MongoClient } from 'mongodb'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import packageJson from '../../package.json' with { type: 'json' }
import { type AuditLog, auditEntryCollection } from '../../records/store/audit/audit-log.ts'

export type Metrics = ReturnType<typeof createMetrics>

const REQUEST_BUCKETS_S = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]
const COMMAND_BUCKETS_S = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10]

/** Creates the metrics in a separate registry, with those of the process (event-loop lag, memory). */
export function createMetrics() {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const build = {
    name: 'health_record_service_build_info',
    help: 'Version of the service and of Node as labels; the value is always 1',
    labelNames: ['version', 'node'] as const,
  }
  new Gauge({ ...build, registers: [registry] }).set(
    { version: packageJson.version, node: process.version },
    1,
  )
  return { registry, ...createHistograms(registry), ...createCounters(registry) }
}

const createHistograms = (registry: Registry) => {
  const histogram = (name: string, help: string, buckets: number[], ...labelNames: string[]) =>
    new Histogram({ name, help, buckets, labelNames, registers: [registry] })
  return {
    requests: histogram(
      'http_request_duration_seconds',
      'Time to answer a request, by method, route template and status; without streams of events',
      REQUEST_BUCKETS_S,
      'method',
      'route',
      'status',
    ),
    commands: histogram(
      'mongodb_command_duration_seconds',
      'Duration of a database command, including the network',
      COMMAND_BUCKETS_S,
    ),
    auditSeconds: histogram(
      'audit_write_duration_seconds',
      'Time that a response waits for its audit entries',
      COMMAND_BUCKETS_S,
    ),
  }
}

const createCounters = (registry: Registry) => {
  const counter = (name: string, help: string, ...labelNames: string[]) =>
    new Counter({ name, help, labelNames, registers: [registry] })
  /** Shows each value from the start: to Prometheus a counter that appears as 1 has not increased. */
  const counterOf = (name: string, help: string, label: string, ...values: string[]) => {
    const labelled = counter(name, help, label)
    for (const value of values) labelled.inc({ [label]: value }, 0)
    return labelled
  }
  return {
    faults: counter('faults_total', 'Requests answered with 500; each is a defect'),
    mails: counterOf(
      'mails_total',
      'Attempts to hand a mail to the mail server, by outcome: sent, failed (tried again later), abandoned, dropped',
      'outcome',
      'sent',
      'failed',
      'abandoned',
      'dropped',
    ),
    refused: counter(
      'requests_refused_total',
      'Refused requests by reason: the problem code, or the error code of the class family',
      'reason',
    ),
    failedLogins: counterOf(
      'logins_failed_total',
      'Failed logins by reason: wrong (address or password), locked (after too many wrong passwords)',
      'reason',
      'wrong',
      'locked',
    ),
    unhandled: counter('unhandled_rejections_total', 'Unhandled promise rejections; each is a defect'),
  }
}

/**
 * Measures the duration of every database command by how long it holds its connection. The driver's own
 * monitoring also has command names, but parses each reply twice, which costs a tenth of a list.
 */
export function observeCommands(client: MongoClient, metrics: Metrics): void {
  const timers = new Map<string, () => void>()
  const key = ({ address, connectionId }: ConnectionEvent) => `${address}/${connectionId}`
  client.on('connectionCheckedOut', (event) => timers.set(key(event), metrics.commands.startTimer()))
  client.on('connectionCheckedIn', (event) => {
    timers.get(key(event))?.()
    timers.delete(key(event))
  })
}

type ConnectionEvent = Pick<ConnectionCheckedOutEvent, 'address' | 'connectionId'>

/** Less than the 10 s in which Prometheus wants an answer. */
const GAUGE_TIMEOUT_MS = 3_000

/** Registers a gauge that is read when metrics are requested; it is absent while it cannot be read. */
export function observeGauge(
  { registry }: Metrics,
  description: { name: string; help: string },
  look: () => Promise<number | undefined>,
): void {
  new Gauge({
    ...description,
    registers: [registry],
    async collect() {
      const timeout = sleep(GAUGE_TIMEOUT_MS, undefined, { ref: false })
      const figure = await Promise.race([look(), timeout]).catch(() => undefined)
      // Resetting would set it to 0.
      if (figure === undefined) this.remove()
      else this.set(figure)
    },
  })
}

/** Wraps the audit log with metrics. */
export function observeAudit(audit: AuditLog, db: Db, metrics: Metrics): AuditLog {
  const entries = { name: 'audit_entries', help: 'Number of audit entries written' }
  observeGauge(metrics, entries, () => auditEntryCollection(db).estimatedDocumentCount())
  return {
    ...audit,
    async record(...accesses) {
      const end = metrics.auditSeconds.startTimer()
      await audit.record(...accesses)
      end()
    },
  }
}

/** Serves the metrics in Prometheus format. */
export function metricsRoute({ registry }: Metrics): RequestHandler {
  return async (_req, res) => {
    res.locals.route = '/metrics'
    res
      .set('Cache-Control', 'no-store')
      .type(registry.contentType)
      .send(await registry.metrics())
  }
}
