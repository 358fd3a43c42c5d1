type AdapterWrite = (this: unknown, className: string, ...rest: unknown[]) => Promise<unknown>

/** Writes of Parse Server's storage adapter that end sessions or change roles. */
export type WatchedAdapter = Record<'deleteObjectsByQuery' | 'upsertOneObject', AdapterWrite>

const ROLE_COLLECTIONS = ['_Role', '_Join:users:_Role', '_Join:roles:_Role']

/**
 * Calls back when Parse Server ends sessions or changes roles in this process: at logout, password reset, or
 * by the master key. Parse has no hook for all of these, but all use its storage adapter.
 */
export function watchSessions(adapter: WatchedAdapter, changed: () => void): void {
  const telling = (write: AdapterWrite, watched: readonly string[]): AdapterWrite => {
    return async function (className, ...rest) {
      try {
        return await write.call(this, className, ...rest)
      } finally {
        if (watched.includes(className)) changed()
      }
    }
  }
  const { deleteObjectsByQuery, upsertOneObject } = adapter
  adapter.deleteObjectsByQuery = telling(deleteObjectsByQuery, ['_Session', ...ROLE_COLLECTIONS])
  adapter.upsertOneObject = telling(upsertOneObject, ROLE_COLLECTIONS)
}
