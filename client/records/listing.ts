export interface Page<Item> {
  items: Item[]
  page: { limit: number; next: string | null; total?: number; prev?: string | null; order?: string }
}

/** A list: its items one by one, or its pages. It reads a page when the items before it have been read. */
export interface Listing<Item> extends AsyncIterable<Item> {
  /** @param cursor `page.next` of the page before, to resume there */
  pages(cursor?: string): AsyncIterable<Page<Item>>
  /** One page: the first, or the one at the cursor. */
  page(cursor?: string): Promise<Page<Item>>
}

export function createListing<Item>(page: (cursor?: string) => Promise<Page<Item>>): Listing<Item> {
  async function* pages(cursor?: string) {
    for (let next: string | null | undefined = cursor; next !== null; ) {
      const current: Page<Item> = await page(next)
      yield current
      next = current.page.next
    }
  }
  return {
    page,
    pages,
    async *[Symbol.asyncIterator]() {
      for await (const { items } of pages()) yield* items
    },
  }
}
