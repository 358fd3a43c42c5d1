import type { Caller } from '../store/documents/caller.ts'
import { documentCollection } from '../store/documents/database.ts'
import { encodeCursor, qualifiedListName } from '../store/reading/cursor.ts'
import type { Page, PageRequest } from '../store/reading/pages.ts'
import type { StoreContext } from '../store/writing/transaction.ts'

/** Finds the EHR of the caller's account; undefined when it has been deleted. */
export async function findOwnEhrId(
  { db }: Pick<StoreContext, 'db'>,
  { userId }: Caller,
): Promise<string | undefined> {
  const user = await documentCollection({ db }, '_User').findOne(
    { _id: userId },
    { projection: { ehrId: 1 } },
  )
  return typeof user?.ehrId === 'string' ? user.ehrId : undefined
}

/** Cursor of the next page when the caller's own EHR fills a page alone: it lies before the newest EHR. */
const CURSOR_BEFORE_NEWEST = encodeCursor(qualifiedListName('Ehr', 'newest'), {
  value: new Date(8.64e15),
  id: '',
})

/**
 * Reads a page of a list, newest first, that starts with the caller's own EHR.
 * @param listOwn reads the page with only that EHR
 * @param listOthers reads the list without that EHR
 */
export async function listOwnFirst<R>(
  { limit, ...page }: PageRequest,
  listOwn: () => Promise<Page<R>>,
  listOthers: (page: PageRequest) => Promise<Page<R>>,
): Promise<Page<R>> {
  const isFirst = page.cursor === undefined
  const { items: ownItems } = isFirst || page.count ? await listOwn() : { items: [] }
  const room = isFirst ? limit - ownItems.length : limit
  // At least 1, to find out whether a next page exists.
  const { items, next, total } = await listOthers({ ...page, limit: Math.max(room, 1) })
  return {
    items: [...(isFirst ? ownItems : []), ...(room > 0 ? items : [])],
    next: room > 0 ? next : items.length > 0 ? CURSOR_BEFORE_NEWEST : null,
    ...(total === undefined ? {} : { total: total + ownItems.length }),
  }
}
