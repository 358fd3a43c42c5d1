import { findSearchedEhrs, queryAccesses } from '../../../records/ehrs/rights/query-accesses.ts'
import { helperActOf } from '../../../records/kinds.ts'
import { type ChangePlace, type ListedChange, listChanges } from '../../../records/live/listed-changes.ts'
import { type Caller, isReadableByHelper } from '../../../records/store/documents/caller.ts'
import type { PageRequest } from '../../../records/store/reading/pages.ts'
import { accessesByEhr } from '../../../records/store/resource.ts'
import type { HistoryKey } from '../../../records/store/writing/history.ts'
import type { StoreContext } from '../../../records/store/writing/transaction.ts'
import { parsePage, parsePatients, parseSince, type SearchParameters } from '../../search/parse-search.ts'
import {
  decodeSearchCursor,
  encodeSearchCursor,
  invalidSearchCursor,
  isTime,
} from '../../search/search-cursor.ts'
import { limitVersions, mayFind } from '../../sources/app-limits.ts'
import type { ResourceDescription, ResourceSource, ResourceVersion } from '../../sources/resource-source.ts'
import { searchedEhrIds } from '../patients-of-caller.ts'

/** A page of the history of types has at most so many versions: each needs a query of its own. */
const MAX_VERSIONS = 100

/** Where a page begins: at a change, of whose versions some have been shown. */
interface Position extends ChangePlace {
  offset: number
}

/** The versions of resources of one type. */
export interface VersionSource {
  description: ResourceDescription
  source: ResourceSource
}

interface VersionPage {
  versions: ResourceVersion[]
  next: string | null
  /** Versions are missing that the app of the caller may not find, so that the page ends here. */
  isShort: boolean
}

/**
 * Lists the versions of resources of these types that the caller may find, newest first, and audits the query.
 * @param base the address of the FHIR API, which references may have
 * @throws InvalidInput for too many patients
 */
export async function listVersions(
  context: StoreContext,
  caller: Caller,
  types: readonly VersionSource[],
  parameters: SearchParameters,
  base?: string,
): Promise<VersionPage> {
  const { limit, cursor } = parsePage(parameters)
  const count = Math.min(limit, MAX_VERSIONS)
  const from = cursor === undefined ? undefined : decodePosition(cursor)
  const since = parseSince(parameters)
  const patientIds = await searchedEhrIds(context, caller, parsePatients(parameters, base))
  const ehrs = await findSearchedEhrs(context, caller, { ehrIds: patientIds })
  const changes = await listChanges(context.db, caller, {
    ehrIds: ehrs.searched,
    collections: types
      .filter(({ description }) => mayFind(caller, description))
      .flatMap(({ source: { collections = [] } }) => collections)
      .filter((name) => isReadableByHelper(caller, helperActOf(name))),
    since,
    from,
    limit: count + 1,
  })
  const all = changes.flatMap((change) =>
    types
      .flatMap(({ description, source }) => limitVersions(caller, description, source, change))
      .map((version, offset) => ({ version, change, offset })),
  )
  const start = from && changes[0]?.changeId === from.changeId ? from.offset : 0
  const page = all.slice(start, start + count)
  const unseen = changes[count]
  const following = all[start + count] ?? (unseen && { change: unseen, offset: 0 })
  await auditChanges(context, caller, ehrs, new Set(page.map(({ change }) => change)))
  return {
    versions: page.map(({ version }) => version),
    next: following ? encodePosition({ ...following.change, offset: following.offset }) : null,
    isShort: page.length < count && following !== undefined,
  }
}

/** Each EHR has an entry for each kind of its changed records, or one that tells that there were none. */
async function auditChanges(
  { audit }: StoreContext,
  caller: Caller,
  { searched, denied }: Awaited<ReturnType<typeof findSearchedEhrs>>,
  changes: ReadonlySet<ListedChange>,
): Promise<void> {
  const collections = new Set([...changes].map(({ collection }) => collection))
  const accesses = [...collections].flatMap((collection) =>
    accessesByEhr(
      { collection, ehr: 'ehrId' },
      caller,
      { action: 'query', asked: 'history' },
      [...changes].filter((one) => one.collection === collection),
    ),
  )
  const without = searched.filter((ehrId) => !accesses.some((one) => one.ehrId === ehrId))
  const others =
    without.length + denied.length > 0 || accesses.length === 0
      ? await queryAccesses(audit, caller, { type: 'Ehr', asked: 'history' }, { searched: without, denied })
      : []
  await audit.record(...accesses, ...others)
}

const encodePosition = ({ at, changeId, offset }: Position): string =>
  encodeSearchCursor([at.getTime(), changeId, offset])

/** @throws InvalidInput */
function decodePosition(cursor: string): Position {
  const [at, changeId, offset] = decodeSearchCursor(cursor)
  if (!isTime(at) || typeof changeId !== 'string' || typeof offset !== 'number') throw invalidSearchCursor()
  return { at: new Date(at), changeId, offset }
}

/** A page of the changes of a record that is hidden with what it belongs to, newest first. The caller could read it. */
export async function listHiddenHistory(
  { db }: StoreContext,
  caller: Caller,
  { collection, id, ehrId }: HistoryKey & { ehrId: string },
  { limit, cursor }: PageRequest,
): Promise<{ changes: ListedChange[]; next: string | null }> {
  const from = cursor === undefined ? undefined : decodePosition(cursor)
  const query = { ehrIds: [ehrId], collections: [collection], id, since: undefined, from, limit: limit + 1 }
  const found = await listChanges(db, caller, query)
  const following = found[limit]
  const next = following ? encodePosition({ ...following, offset: 0 }) : null
  return { changes: found.slice(0, limit), next }
}
