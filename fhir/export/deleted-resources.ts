import { findSearchedEhrs } from '../../records/ehrs/rights/query-accesses.ts'
import { listChanges } from '../../records/live/listed-changes.ts'
import { accessesByEhr } from '../../records/store/resource.ts'
import type { StoreContext } from '../../records/store/writing/transaction.ts'
import {
  decodeSearchCursor,
  encodeSearchCursor,
  invalidSearchCursor,
  isTime,
} from '../search/search-cursor.ts'
import { limitVersions } from '../sources/app-limits.ts'
import type { ExportSource, ResourceDescription, ResourceSource } from '../sources/resource-source.ts'

/** The resources of a patient that were deleted since a time, as Bundles of DELETE requests. */
export const deletedResources = (
  context: StoreContext,
  types: readonly { description: ResourceDescription; source: ResourceSource }[],
): ExportSource => ({
  async exportPage(caller, { ehrId, since, after, limit }, reads) {
    const { searched } = await findSearchedEhrs(context, caller, { ehrIds: [ehrId] })
    const changes = await listChanges(context.db, caller, {
      ehrIds: searched,
      collections: types.flatMap(({ source }) => source.collections ?? []),
      since: since ?? undefined,
      action: 'delete',
      limit: limit + 1,
      from: after === null ? undefined : decodePlace(after),
    })
    // A record that has returned is no longer deleted.
    const deletions = changes
      .slice(0, limit)
      .filter((change) => change.after === null)
      .map((change) => ({
        change,
        versions: types.flatMap(({ description, source }) =>
          limitVersions(caller, description, source, change),
        ),
      }))
      .filter(({ versions }) => versions.length > 0)
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
    const next = following && encodeSearchCursor([following.at.getTime(), following.changeId])
    return { resources, ...(next !== undefined && { next }) }
  },
})

function decodePlace(after: string) {
  const [at, changeId] = decodeSearchCursor(after)
  if (!isTime(at) || typeof changeId !== 'string') throw invalidSearchCursor()
  return { at: new Date(at), changeId }
}
