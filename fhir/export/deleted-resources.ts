import { findSearchedEhrs } from '../../records/ehrs/rights/query-accesses.ts'
import type { RecordChange } from '../../records/history/changes.ts'
import { listChanges } from '../../records/history/listed-changes.ts'
import { documentCollection } from '../../records/store/documents/database.ts'
import type { ParseDocument } from '../../records/store/documents/parse-format.ts'
import { decodeCursorParts, encodeCursorParts } from '../../records/store/reading/cursor.ts'
import { accessesByEhr } from '../../records/store/resource.ts'
import type { StoreContext } from '../../records/store/writing/transaction.ts'
import { invalidSearchCursor, isTime } from '../search/search-cursor.ts'
import { limitVersions } from '../sources/app-limits.ts'
import type {
  ExportSource,
  ResourceDescription,
  ResourceSource,
  ResourceVersion,
} from '../sources/resource-source.ts'

/** The resources of the exported types that a patient had and that were deleted since a time, as Bundles of DELETE requests. */
export const deletedResources = (
  context: StoreContext,
  allTypes: readonly { description: ResourceDescription; source: ResourceSource }[],
): ExportSource => ({
  async exportPage(caller, { ehrId, types: exportedTypes, since, after, limit }, reads) {
    const types = allTypes.filter(({ description: { type } }) => exportedTypes.includes(type))
    const { searched } = await findSearchedEhrs(context, caller, { ehrIds: [ehrId] })
    const changes = await listChanges(context.db, caller, {
      ehrIds: searched,
      collections: types.flatMap(({ source }) => source.collections ?? []),
      since: since ?? undefined,
      deletions: { updatesOf: types.flatMap(({ source }) => source.partCollections ?? []) },
      limit: limit + 1,
      from: after === null ? undefined : decodePlace(after),
    })
    const listed = changes.slice(0, limit).map(async (change) => {
      const versions = types.flatMap(({ description, source }) =>
        limitVersions(caller, description, source, change).filter(({ action }) => action === 'delete'),
      )
      return { change, versions: await keepDeleted(context, types, change, versions) }
    })
    const deletions = (await Promise.all(listed)).filter(({ versions }) => versions.length > 0)
    for (const {
      change: { collection, ...record },
    } of deletions)
      reads.accesses.push(
        ...accessesByEhr({ collection, ehr: 'ehrId' }, caller, { action: 'query', asked: 'export' }, [
          record,
        ]),
      )
    const resources = deletions.map(({ versions }) => ({
      resourceType: 'Bundle',
      type: 'transaction',
      entry: versions.map(({ type, id }) => ({ request: { method: 'DELETE', url: `${type}/${id}` } })),
    }))
    const following = changes[limit]
    const next = following && encodeCursorParts([following.at.getTime(), following.changeId])
    return { resources, ...(next !== undefined && { next }) }
  },
})

/** A record, or a part of it, that has returned is no longer deleted. */
async function keepDeleted(
  context: StoreContext,
  types: readonly { source: ResourceSource }[],
  change: RecordChange,
  versions: readonly ResourceVersion[],
): Promise<readonly ResourceVersion[]> {
  if (change.action === 'delete') return change.after === null ? versions : []
  if (versions.length === 0) return []
  const after = await documentCollection(context, change.collection).findOne({ _id: change.id })
  const deletion = { ...change, after: after as ParseDocument | null }
  const current = types.flatMap(({ source }) => source.versionsOf?.(deletion) ?? [])
  return versions.filter(({ id }) => !current.some((one) => one.id === id && one.action !== 'delete'))
}

function decodePlace(after: string) {
  const [at, changeId] = decodeCursorParts(after)
  if (!isTime(at) || typeof changeId !== 'string') throw invalidSearchCursor()
  return { at: new Date(at), changeId }
}
