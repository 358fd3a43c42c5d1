import type { Caller } from '../store/documents/caller.ts'
import { documentsOf } from '../store/documents/database.ts'
import { encodeCursor, listName } from '../store/reading/cursor.ts'
import type { Page, PageOf } from '../store/reading/listing.ts'
import type { Records } from '../store/writing/transaction.ts'

/** The EHR that came with the caller's account, as long as it has not been deleted. */
export async function ownEhrId({ db }: Pick<Records, 'db'>, { userId }: Caller): Promise<string | undefined> {
  const user = await documentsOf({ db }, '_User').findOne({ _id: userId }, { projection: { ehrId: 1 } })
  return typeof user?.ehrId === 'string' ? user.ehrId : undefined
}

/** Where the list of EHRs goes on behind the caller's own, when that fills a page alone: before the newest. */
const START = encodeCursor(listName('Ehr', 'newest'), { value: new Date(8.64e15), id: '' })

/**
 * A page of a list, newest first, at whose beginning the caller's own EHR stands.
 * @param own the page of that one alone
 * @param listOthers the list of all but that one
 */
export async function ownFirst<R>(
  { limit, ...page }: PageOf,
  own: () => Promise<Page<R>>,
  listOthers: (page: PageOf) => Promise<Page<R>>,
): Promise<Page<R>> {
  const isFirst = page.cursor === undefined
  const { items: first } = isFirst || page.count ? await own() : { items: [] }
  const room = isFirst ? limit - first.length : limit
  // To tell whether there is a next page takes a look at it.
  const { items, next, total } = await listOthers({ ...page, limit: Math.max(room, 1) })
  return {
    items: [...(isFirst ? first : []), ...(room > 0 ? items : [])],
    next: room > 0 ? next : items.length > 0 ? START : null,
    ...(total === undefined ? {} : { total: total + first.length }),
  }
}
