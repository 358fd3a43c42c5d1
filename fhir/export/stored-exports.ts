import type { Binary, Collection, Db, Filter, IndexDescription } from 'mongodb'
import type { EndedAccess } from '../../records/accounts/apps/app-grants.ts'
import { type Database, runTransaction } from '../../records/store/documents/database.ts'
import { idsWithPrefix } from '../../records/store/documents/ids.ts'
import type { AppPermit } from '../../schemas/accounts/app.ts'

/** Where an export goes on: at a patient, in one of the sections of an export, at a position there. */
export interface ExportPosition {
  patient: number
  section: number
  after: string | null
}

/** As stored: `admission` is the id of the grant. */
type StoredPermit = Omit<AppPermit, 'grantId'> & { admission: string }

export const toStoredPermit = ({ grantId, ...permit }: AppPermit): StoredPermit => ({
  ...permit,
  admission: grantId,
})

export const fromStoredPermit = ({ admission, ...permit }: StoredPermit): AppPermit => ({
  ...permit,
  grantId: admission,
})

/** An export, from its request until its files expire. */
export interface StoredExport {
  _id: string
  userId: string
  /** The app that asked for it, with the scopes that it had then; undefined: the user. */
  app?: StoredPermit
  /** The URL of the request. */
  request: string
  ehrIds: string[]
  /** Resource types, and `deleted`; each has a file. */
  sections: string[]
  since: Date | null
  startedAt: Date
  expiresAt: Date
  /** null when it is complete. */
  position: ExportPosition | null
  /** The number of its steps that are stored. */
  steps: number
  /** The number of lines by section. */
  counts: Record<string, number>
}

/** A part of a file: lines of JSON, compressed. The ids sort by file and position. */
interface ExportChunk {
  _id: string
  userId: string
  expiresAt: Date
  content: Binary
}

/** No Parse class can have a name with a dot, so the class family never reaches the collections. */
export const exportCollection = (db: Db): Collection<StoredExport> =>
  db.collection<StoredExport>('fhir.exports')

export const chunkCollection = (db: Db): Collection<ExportChunk> =>
  db.collection<ExportChunk>('fhir.export_chunks')

const INDEXES: IndexDescription[] = [
  { name: 'expiry', key: { expiresAt: 1 }, expireAfterSeconds: 0 },
  { name: 'user', key: { userId: 1 } },
]

export const exportIndexes = (db: Db): [collection: string, IndexDescription[]][] => [
  [exportCollection(db).collectionName, [...INDEXES, { name: 'app', key: { 'app.id': 1 }, sparse: true }]],
  [chunkCollection(db).collectionName, INDEXES],
]

const DIGITS = 8

export const chunkId = (exportId: string, section: string, step: number, part: number): string =>
  `${exportId}/${section}/${[step, part].map((one) => String(one).padStart(DIGITS, '0')).join('/')}`

/** The ids of the chunks of an export, or of one of its files. */
export const chunkIdRange = (exportId: string, section?: string): { $gte: string; $lt: string } => {
  return idsWithPrefix(section === undefined ? `${exportId}/` : `${exportId}/${section}/`)
}

/** Cancels exports, or deletes their files. */
export async function removeExports(database: Database, filter: Filter<StoredExport>): Promise<void> {
  const exports = await exportCollection(database.db)
    .find(filter, { projection: { _id: 1 } })
    .toArray()
  for (const { _id } of exports) {
    // A step that runs now conflicts with this, and then finds no export.
    await runTransaction(database, (session) => exportCollection(database.db).deleteOne({ _id }, { session }))
    await chunkCollection(database.db).deleteMany({ _id: chunkIdRange(_id) })
  }
}

/** Removes the exports of an app whose access has ended. */
export const removeExportsOfApp = (database: Database, { appId, grantId }: EndedAccess): Promise<void> =>
  removeExports(database, { 'app.id': appId, ...(grantId !== undefined && { 'app.admission': grantId }) })
