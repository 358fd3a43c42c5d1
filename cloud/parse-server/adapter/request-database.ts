/** What Parse Server makes for every request, to ask its storage adapter by. */
export interface RequestDatabase<Schema> {
  adapter: object
  schemaPromise: Promise<Schema> | null
  loadSchema(): Promise<Schema>
}

/**
 * Parse Server builds its schema anew for every step of every request: a tenth of what a request costs. Ours is locked:
 * what was built once serves all.
 */
export function sharedSchema<Schema>(): (database: RequestDatabase<Schema>) => void {
  let built: Promise<Schema> | undefined
  return (database) => {
    built ??= database.loadSchema().catch((error: unknown) => {
      built = undefined
      throw error
    })
    database.schemaPromise = built
  }
}

/** Gives the reads of one request their time; who asks has been looked up by then, in that of any read. @param timeLeft asked before each of them */
export function hurry(database: { adapter: object }, timeLeft: () => number): void {
  database.adapter = Object.create(database.adapter, { _maxTimeMS: { get: timeLeft } })
}
