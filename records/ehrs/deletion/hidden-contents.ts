import type { Db, Document, Filter } from 'mongodb'
import { type Caller, isPermitted, permissionFilter } from '../../store/documents/caller.ts'
import { documentCollection } from '../../store/documents/database.ts'
import type { ParseDocument } from '../../store/documents/parse-format.ts'
import type { StoreContext } from '../../store/writing/transaction.ts'
import { CONTAINER_ID_FIELDS, type ContainerClass, waitForDeletion } from './cascading-deletion.ts'

/** A record of a care plan, goal, task or event. */
export interface ContentRecord {
  collection: string
  id: string
  ehrId: string
  document: ParseDocument
}

/** A record that is hidden because what it belongs to is deleted. Its permissions are those from before. */
export interface HiddenRecord extends ContentRecord {
  /** The container whose deletion has hidden it first. */
  containerId: string
}

/** The condition for hidden records. */
export const IS_HIDDEN: Filter<ParseDocument> = { _rperm: { $regex: '^removed-' } }

/** The prefixes of an entry, and the container that the last of them names. */
const PREFIXES = /^(?:removed-([^:]+):)+/

const withoutPrefixes = (permissions: readonly string[] = []): string[] =>
  permissions.map((one) => one.replace(PREFIXES, ''))

/**
 * Finds hidden records of a collection that the caller could read before the deletion. Their EHR must be readable.
 * @param fields the stored fields to read; default: all
 */
export async function findHiddenRecords(
  db: Db,
  caller: Caller,
  collection: string,
  filter: Filter<ParseDocument>,
  { fields, limit = 0 }: { fields?: readonly string[]; limit?: number } = {},
): Promise<HiddenRecord[]> {
  // Helpers read deleted records, but none of the contents that were hidden with them.
  if (caller.helper) return []
  const names = fields && ['ehrId', 'version', '_rperm', ...fields]
  const projection: Document = Object.fromEntries((names ?? []).map((name) => [name, 1]))
  const hiddenDocuments = documentCollection({ db }, collection)
    .find({ ...filter, ...IS_HIDDEN }, { projection })
    .limit(limit)
  return (await hiddenDocuments.toArray()).flatMap((document) => {
    const [, containerId = ''] = PREFIXES.exec(document._rperm?.[0] ?? '') ?? []
    const visibleDocument = {
      ...document,
      _rperm: withoutPrefixes(document._rperm),
      _wperm: withoutPrefixes(document._wperm),
    }
    const { _id: id, ehrId } = document
    return isPermitted(visibleDocument._rperm, caller)
      ? [{ collection, id, ehrId: String(ehrId), containerId, document: visibleDocument as ParseDocument }]
      : []
  })
}

/** A container whose contents have just become hidden or visible. */
interface ChangedContainer {
  className: ContainerClass
  id: string
  isDeleted: boolean
}

/**
 * Finds the contents of a container that has been deleted or has returned, as far as the caller may read them.
 * @returns undefined if there are more than `limit`, or if a job still changes them
 */
export async function findContents(
  context: StoreContext,
  caller: Caller,
  { className, id, isDeleted }: ChangedContainer,
  collections: readonly string[],
  limit: number,
): Promise<ContentRecord[] | undefined> {
  const contentRecords: ContentRecord[] = []
  if (!(await waitForDeletion(context, className, id))) return undefined
  for (const name of context.contents[className].filter((one) => collections.includes(one))) {
    const within = { [CONTAINER_ID_FIELDS[className]]: id } as Filter<ParseDocument>
    const left = limit - contentRecords.length + 1
    const contents = isDeleted
      ? await findHiddenRecords(context.db, caller, name, within, { limit: left })
      : await findVisibleRecords(context.db, caller, name, within, left)
    contentRecords.push(...contents.filter((one) => !('containerId' in one) || one.containerId === id))
    if (contentRecords.length > limit) return undefined
  }
  return contentRecords
}

async function findVisibleRecords(
  db: Db,
  caller: Caller,
  collection: string,
  filter: Filter<ParseDocument>,
  limit: number,
): Promise<ContentRecord[]> {
  const readable = { ...filter, ...permissionFilter('_rperm', caller) } as Filter<ParseDocument>
  const visibleDocuments = documentCollection({ db }, collection).find(readable, { limit })
  return (await visibleDocuments.toArray()).map((document) => ({
    collection,
    id: document._id,
    ehrId: String(document.ehrId),
    document: document as ParseDocument,
  }))
}
