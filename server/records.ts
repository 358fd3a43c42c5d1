import { auditIndexes, openAudit } from '../records/audit.ts'
import { Profiles } from '../records/profiles/profiles.ts'
import type { Connection } from './connection.ts'
import type { Log } from './log.ts'

export interface RecordServices {
  profiles: Profiles
  close(): Promise<void>
}

/**
 * Opens the audit and what the path family keeps its records in, and makes their indexes.
 * @param auditKey see openAudit
 */
export async function openRecords(
  { client, db }: Pick<Connection, 'client' | 'db'>,
  auditKey: string,
  log: Log,
): Promise<RecordServices> {
  const clock = () => new Date()
  const onFault = (err: unknown) => log.error({ err }, 'The heads of the audit could not be signed')
  const audit = await openAudit({ db, key: auditKey, clock, onFault })
  const profiles = new Profiles({ client, db, clock, audit })
  for (const [collection, indexes] of [...Object.entries(auditIndexes), ...profiles.indexes()]) {
    if (indexes.length > 0) await db.collection(collection).createIndexes(indexes)
  }
  return { profiles, close: () => audit.close() }
}
