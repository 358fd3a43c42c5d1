/** Object that Parse Server creates per request to call its storage adapter. */
export interface RequestDatabase<Schema> {
  adapter: object
  schemaPromise: Promise<Schema> | null
  loadSchema(): Promise<Schema>
}

/**
 * Parse Server rebuilds its schema in every step of a request, a tenth of its cost. Our schema never changes
 * at runtime, so one instance serves all requests.
 */
export function createSchemaCache<Schema>(): (database: RequestDatabase<Schema>) => void {
  let built: Promise<Schema> | undefined
  return (database) => {
    built ??= database.loadSchema().catch((error: unknown) => {
      built = undefined
      throw error
    })
    database.schemaPromise = built
  }
}

/**
 * Sets the database deadline for the reads of one request. Authentication has finished by then, under the
 * general read timeout.
 * @param timeLeft called before each read
 */
export function setDatabaseDeadline(database: { adapter: object }, timeLeft: () => number): void {
  database.adapter = Object.create(database.adapter, { _maxTimeMS: { get: timeLeft } })
}
