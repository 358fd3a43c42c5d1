import { createHmac } from 'node:crypto'
import type { Db } from 'mongodb'
import { startPeriodicTask } from '../../records/store/batching/periodic-task.ts'
import { newId } from '../../records/store/documents/ids.ts'
import { syncIndexes } from '../../records/store/documents/indexes.ts'
import { type Config, environmentVariableOf } from '../config/config.ts'
import type { Log } from './log.ts'

const SETTINGS_REPORT_INTERVAL_MS = 15_000
/** An instance that has not reported for this time has ended. */
const REPORT_LIFETIME_S = 40

/** Settings by which instances would refuse each other's clients and tokens, or store different data. */
const SHARED_SETTINGS = [
  'publicUrl',
  'openehrSystemId',
  'termsVersion',
  'termsUrl',
  'auditDays',
  'carePlanTemplates',
  'textPacks',
  'oidcIssuer',
  'oidcClientId',
  'applicationId',
  'restApiKey',
  'javascriptKey',
  'clientKey',
  'dotnetKey',
  'masterKey',
] as const satisfies (keyof Config)[]

/** What an instance reports of itself: digests of its settings by their variables, since some are secrets. */
interface InstanceReport {
  _id: string
  at: Date
  settings: Record<string, string>
}

/**
 * Compares the settings of this instance with those of the others on the database, and warns once until they are alike.
 * @param config names the content of files in place of their directory
 * @returns a function that ends it
 */
export async function startSettingsCheck(
  db: Db,
  config: Config & { publicUrl: string },
  log: Log,
): Promise<() => Promise<void>> {
  const reports = db.collection<InstanceReport>('service.instances')
  await syncIndexes(reports, [{ key: { at: 1 }, name: 'expiry', expireAfterSeconds: REPORT_LIFETIME_S }])
  const _id = newId()
  const settings = digestSettings(config)
  let warnedOf = ''
  const check = async () => {
    const at = new Date()
    await reports.updateOne({ _id }, { $set: { at, settings } }, { upsert: true })
    const since = new Date(at.getTime() - REPORT_LIFETIME_S * 1000)
    const otherReports = await reports.find({ _id: { $ne: _id }, at: { $gt: since } }).toArray()
    const different = findDifferences(settings, otherReports).join(', ')
    if (different !== '' && different !== warnedOf)
      log.warn(
        `Another instance on this database has other values of ${different}. Set them alike for all instances`,
      )
    warnedOf = different
  }
  // An outage of the database is told elsewhere.
  const task = startPeriodicTask(SETTINGS_REPORT_INTERVAL_MS, check, () => {})
  return async () => {
    await task.stop()
    await reports.deleteOne({ _id }).catch(() => {})
  }
}

const digestSettings = (config: Config): Record<string, string> =>
  Object.fromEntries(
    SHARED_SETTINGS.map((name) => {
      const digest = createHmac('sha256', config.keyEncryptionKey).update(`${name}=${config[name] ?? ''}`)
      return [environmentVariableOf(name), digest.digest('base64url')]
    }),
  )

/** The variables of which another instance has another value. An instance of another release may not report all. */
const findDifferences = (settings: InstanceReport['settings'], otherReports: InstanceReport[]): string[] =>
  Object.keys(settings).filter((name) =>
    otherReports.some(
      (other) => other.settings[name] !== undefined && other.settings[name] !== settings[name],
    ),
  )
