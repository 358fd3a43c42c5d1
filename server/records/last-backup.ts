import type { Db } from 'mongodb'
import type { Config } from '../config/config.ts'

interface StoredBackup {
  _id: 'last'
  at: Date
}

const backupCollection = (db: Db) => db.collection<StoredBackup>('service.backups')

/** Records a backup that is complete. It does not contain its own record. */
export async function recordBackup(db: Db, at: Date): Promise<void> {
  await backupCollection(db).updateOne({ _id: 'last' }, { $max: { at } }, { upsert: true })
}

/** The time of the last backup by the command `backup`, which copies embedded databases only. */
export async function findLastBackup(db: Db, { mongodbUri }: Config): Promise<Date | undefined> {
  return mongodbUri === undefined ? (await backupCollection(db).findOne({ _id: 'last' }))?.at : undefined
}
