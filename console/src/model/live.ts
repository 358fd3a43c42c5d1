import { type Query, type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { api } from '../session/user-session.ts'
import { ehrKey, WORKLIST_KEY } from './queries.ts'

/**
 * Changes of one moment refresh a page once. The service tells of changes each 100 ms: a longer delay would never end while
 * they go on.
 */
const REFRESH_DELAY_MS = 50

/** The stream tells of changes from so long before its start: pages read while it starts. */
const LOOK_BACK_S = 5
const query = { lookBack: LOOK_BACK_S }

type Follow = (more: { signal: AbortSignal; onStart: () => void }) => AsyncIterable<unknown>

/** A read that is on its way may have missed the change, and would not be repeated before it ends. */
async function readAgain(queries: QueryClient, queryKey: readonly unknown[]): Promise<void> {
  const loading = queries.getQueryCache().findAll({ queryKey, fetchStatus: 'fetching' })
  await Promise.allSettled(loading.map(({ promise }) => promise))
  await queries.invalidateQueries({ queryKey })
}

async function refreshOnChange(
  queries: QueryClient,
  queryKey: readonly unknown[],
  follow: Follow,
  signal: AbortSignal,
): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const refresh = () => {
    clearTimeout(timer)
    timer = setTimeout(() => readAgain(queries, queryKey), REFRESH_DELAY_MS)
  }
  const openedAt = Date.now()
  const readOlder = () => {
    if (Date.now() - openedAt > LOOK_BACK_S * 1000) return refresh()
    const isOlder = ({ state }: Query) => state.dataUpdatedAt < openedAt && state.fetchStatus === 'idle'
    queries.invalidateQueries({ queryKey, predicate: isOlder })
  }
  // A stream that cannot be resumed is none; the pages then show what they read.
  for await (const _ of follow({ signal, onStart: readOlder })) refresh()
}

function useRefresh(queryKey: readonly unknown[], follow: Follow | undefined): void {
  const queries = useQueryClient()
  const name = follow && JSON.stringify(queryKey)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key names what is followed
  useEffect(() => {
    if (!follow) return
    const stop = new AbortController()
    refreshOnChange(queries, queryKey, follow, stop.signal).catch(() => {})
    return () => stop.abort()
  }, [queries, name])
}

/** Keeps what is on the screen up to date. Forms have a state of their own, so nothing that is typed changes. */
export function useLiveEhr(ehrId: string): void {
  const follow: Follow = (more) =>
    api.follow('/ehr/{ehrId}/changes', { params: { path: { ehrId }, query }, ...more })
  useRefresh(ehrKey(ehrId), ehrId === '' ? undefined : follow)
}

/** Keeps the worklist up to date, in the same way. */
export function useLiveWorklist(): void {
  useRefresh(WORKLIST_KEY, (more) => api.follow('/worklist/changes', { params: { query }, ...more }))
}
