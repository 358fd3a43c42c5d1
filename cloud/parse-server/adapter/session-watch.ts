type AdapterDelete = (this: unknown, className: string, ...rest: unknown[]) => Promise<unknown>

/** The method of Parse Server's storage adapter that ends sessions. */
export type WatchedAdapter = Record<'deleteObjectsByQuery', AdapterDelete>

/**
 * Calls back when Parse Server ends sessions in this process: at logout, password reset, or by the master key. Parse has
 * no hook for all of these, but all use its storage adapter.
 */
export function watchSessions(adapter: WatchedAdapter, onChange: () => unknown): void {
  const { deleteObjectsByQuery } = adapter
  adapter.deleteObjectsByQuery = async function (className, ...rest) {
    try {
      return await deleteObjectsByQuery.call(this, className, ...rest)
    } finally {
      if (className === '_Session') await onChange()
    }
  }
}
