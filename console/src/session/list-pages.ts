/** Of lists that are read as a whole. */
const ENTRIES_PER_PAGE = 200

export interface PageRequest {
  limit: number
  cursor?: string
}

/** The first page of a list, or the one at a cursor. */
export const pageOf = (limit: number, cursor: string | undefined): PageRequest => ({
  limit,
  ...(cursor && { cursor }),
})

interface ListAnswer<T> {
  data: { items: T[]; page: { next: string | null } }
}

type ReadPage<T> = (request: PageRequest) => Promise<ListAnswer<T>>

async function* pagesOf<T>(readPage: ReadPage<T>): AsyncGenerator<T[]> {
  let cursor: string | undefined
  do {
    const { items, page } = (await readPage(pageOf(ENTRIES_PER_PAGE, cursor))).data
    yield items
    cursor = page.next ?? undefined
  } while (cursor)
}

/** All entries of a list, page by page. */
export async function readAll<T>(readPage: ReadPage<T>): Promise<T[]> {
  const entries: T[] = []
  for await (const items of pagesOf(readPage)) entries.push(...items)
  return entries
}

/** The first entry of a list that fits; reads the pages up to it. */
export async function findEntry<T>(
  readPage: ReadPage<T>,
  fits: (entry: T) => boolean,
): Promise<T | undefined> {
  for await (const items of pagesOf(readPage)) {
    const entry = items.find(fits)
    if (entry !== undefined) return entry
  }
  return undefined
}
