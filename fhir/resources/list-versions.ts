import { findSearchedEhrs, queryAccesses } from '../../records/ehrs/rights/query-accesses.ts'
import { type ChangePlace, type ListedChange, listChanges } from '../../records/history/listed-changes.ts'
import { helperActOf } from '../../records/kinds.ts'
import { type Caller, isReadableByHelper } from '../../records/store/documents/caller.ts'
import {
  decodeCursorParts,
  decodeTimeCursor,
  encodeCursor,
  encodeCursorParts,
  qualifiedListName,
} from '../../records/store/reading/cursor.ts'
import type { PageRequest } from '../../records/store/reading/pages.ts'
import { accessesByEhr } from '../../records/store/resource.ts'
import type { HistoryKey } from '../../records/store/writing/history.ts'
import type { StoreContext } from '../../records/store/writing/transaction.ts'
import { parsePage, parsePatients, parseSince, type SearchParameters } from '../search/parse-search.ts'
import { invalidSearchCursor, isTime } from '../search/search-cursor.ts'
import { limitVersions, mayFind } from '../sources/app-limits.ts'
import type {
  FhirServices,
  ResourceDescription,
  ResourceSource,
  ResourceVersion,
} from '../sources/resource-source.ts'
import { searchedEhrIds } from './patients-of-caller.ts'

/** The most versions of a page of the history of types. Each needs a query of its own. */
const MAX_VERSIONS = 100

/** Rounds of reading changes for one page: the app of the caller may find the versions of only some of them. */
const MAX_ROUNDS = 10

/** Where a page begins: at a change, of whose versions some have been shown. */
interface Position extends ChangePlace {
  offset: number
}

interface FoundVersion {
  version: ResourceVersion
  change: ListedChange
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
 * Lists the versions of resources of these types that the caller may find, newest first, and audits the query. A cursor names a
 * version of the next page. It is encrypted if none was found in the last round: an app may not find the next change.
 * @param base the URL of the FHIR API, which references may have
 * @throws InvalidInput for too many patients
 */
export async function listVersions(
  { context, cursorEncryption }: Pick<FhirServices, 'context' | 'cursorEncryption'>,
  caller: Caller,
  types: readonly VersionSource[],
  parameters: SearchParameters,
  base?: string,
): Promise<VersionPage> {
  const { limit, cursor } = parsePage(parameters)
  const count = Math.min(limit, MAX_VERSIONS)
  const from = cursor === undefined ? undefined : decodePosition(cursorEncryption?.decrypt(cursor) ?? cursor)
  const since = parseSince(parameters)
  const patientIds = await searchedEhrIds(context, caller, parsePatients(parameters, base))
  const ehrs = await findSearchedEhrs(context, caller, { ehrIds: patientIds })
  const collections = types
    .filter(({ description }) => mayFind(caller, description))
    .flatMap(({ source: { collections = [] } }) => collections)
    .filter((name) => isReadableByHelper(caller, helperActOf(name)))
  const { versionsWithChanges, unread } = await findVersions(
    { from, count },
    (position, limit) =>
      listChanges(context.db, caller, { ehrIds: ehrs.searched, collections, since, from: position, limit }),
    (change) =>
      types.flatMap(({ description, source }) => limitVersions(caller, description, source, change)),
  )
  const page = versionsWithChanges.slice(0, count)
  const following = versionsWithChanges[count]
  const next = following
    ? encodePosition({ ...following.change, offset: following.offset })
    : unread && cursorEncryption?.encrypt(encodePosition({ ...unread, offset: 0 }))
  await auditChanges(context, caller, ehrs, new Set(page.map(({ change }) => change)))
  return {
    versions: page.map(({ version }) => version),
    next: next ?? null,
    isShort: page.length < count && next !== undefined,
  }
}

/** Reads changes until they have more versions than a page, so that the next page begins at a version. */
async function findVersions(
  { from, count }: { from: Position | undefined; count: number },
  readChanges: (from: ChangePlace | undefined, limit: number) => Promise<ListedChange[]>,
  versionsOf: (change: ListedChange) => ResourceVersion[],
): Promise<{ versionsWithChanges: FoundVersion[]; unread: ListedChange | undefined }> {
  const versionsWithChanges: FoundVersion[] = []
  let unread: ListedChange | undefined
  for (let round = 0; round < MAX_ROUNDS && versionsWithChanges.length <= count; round++) {
    const size = round === 0 ? count + 1 : MAX_VERSIONS
    const changes = await readChanges(unread ?? from, size + 1)
    const versions = changes
      .slice(0, size)
      .flatMap((change) => versionsOf(change).map((version, offset) => ({ version, change, offset })))
    versionsWithChanges.push(
      ...versions.filter((one) => one.change.changeId !== from?.changeId || one.offset >= from.offset),
    )
    unread = changes[size]
    if (!unread) break
  }
  return { versionsWithChanges, unread }
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
  const queryEntries =
    without.length + denied.length > 0 || accesses.length === 0
      ? await queryAccesses(audit, caller, { type: 'Ehr', asked: 'history' }, { searched: without, denied })
      : []
  await audit.record(...accesses, ...queryEntries)
}

const encodePosition = ({ at, changeId, offset }: Position): string =>
  encodeCursorParts([at.getTime(), changeId, offset])

/** @throws InvalidInput */
function decodePosition(cursor: string): Position {
  const [at, changeId, offset] = decodeCursorParts(cursor)
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
  const list = qualifiedListName(collection, 'hiddenHistory')
  const position = cursor === undefined ? undefined : decodeTimeCursor(list, cursor)
  const from = position && { at: position.value, changeId: position.id }
  const query = { ehrIds: [ehrId], collections: [collection], id, since: undefined, from, limit: limit + 1 }
  const changes = await listChanges(db, caller, query)
  const following = changes[limit]
  const next = following ? encodeCursor(list, { value: following.at, id: following.changeId }) : null
  return { changes: changes.slice(0, limit), next }
}
