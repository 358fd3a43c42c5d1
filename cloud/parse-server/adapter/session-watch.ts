type Write = (className: string, ...rest: unknown[]) => Promise<unknown>

/** The writes of Parse Server's storage adapter that end sessions and change who holds which role. */
export type WatchedAdapter = Record<'deleteObjectsByQuery' | 'upsertOneObject', Write>

const ofRoles = ['_Role', '_Join:users:_Role', '_Join:roles:_Role']

/**
 * Tells when Parse Server ends sessions or changes roles in this process: by the class family's logout, by its password
 * reset, by the master key. It has no hook for all of them; all pass its storage adapter.
 */
export function watchSessions(adapter: WatchedAdapter, changed: () => void): void {
  const telling = (write: Write, watched: readonly string[]): Write => {
    return async (className, ...rest) => {
      try {
        return await write(className, ...rest)
      } finally {
        if (watched.includes(className)) changed()
      }
    }
  }
  const { deleteObjectsByQuery, upsertOneObject } = adapter
  adapter.deleteObjectsByQuery = telling(deleteObjectsByQuery.bind(adapter), ['_Session', ...ofRoles])
  adapter.upsertOneObject = telling(upsertOneObject.bind(adapter), ofRoles)
}
