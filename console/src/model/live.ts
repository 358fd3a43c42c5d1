import { type Query, type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { usePageVisibility } from '../browser/page-visibility.ts'
import { nameHere } from '../browser/storage.ts'
import { api, currentSession, ownApi } from '../session/user-session.ts'
import { accountKey, ehrKey, isDenied, WORKLIST_KEY } from './queries.ts'

/**
 * Changes at the same time refresh a page once. The service reports changes each 100 ms: a longer delay would never end while
 * changes continue.
 */
const REFRESH_DELAY_MS = 50

/** The stream also reports changes from this time before its start, since pages are read while it starts. */
const LOOK_BACK_S = 5
const query = { lookBack: LOOK_BACK_S }

interface FollowOptions {
  signal: AbortSignal
  onStart: () => void
}
type Follow = (options: FollowOptions) => AsyncIterable<unknown>

/** A running read may have missed the change, and would not be repeated before it ends. */
async function readAgain(queries: QueryClient, queryKey: readonly unknown[]): Promise<void> {
  const loading = queries.getQueryCache().findAll({ queryKey, fetchStatus: 'fetching' })
  await Promise.allSettled(loading.map(({ promise }) => promise))
  await queries.invalidateQueries({ queryKey })
}

/**
 * One of the windows that follow the same changes opens the stream and informs the others. Without HTTP/2 a browser has only
 * six connections to the service, for all its windows.
 */
async function followOnce(name: string, follow: Follow, onChange: () => void, options: FollowOptions) {
  const { mvUid, helpedPerson } = { mvUid: '', helpedPerson: undefined, ...currentSession() }
  const channelName = nameHere(`${mvUid} ${helpedPerson?.mvUid} ${name}`)
  const windows = new BroadcastChannel(channelName)
  windows.onmessage = onChange
  const open = async () => {
    // Without resuming, the pages show what they last read.
    for await (const _ of follow(options)) {
      windows.postMessage(null)
      onChange()
    }
  }
  try {
    // Pages over plain HTTP have no locks, except on the machine of the service.
    await (navigator.locks ? navigator.locks.request(channelName, { signal: options.signal }, open) : open())
  } finally {
    windows.close()
  }
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
  const isOlder = ({ state }: Query) => state.dataUpdatedAt < openedAt && state.fetchStatus === 'idle'
  queries.invalidateQueries({ queryKey, predicate: isOlder })
  const onStart = () => {
    if (Date.now() - openedAt > LOOK_BACK_S * 1000) refresh()
  }
  await followOnce(JSON.stringify(queryKey), follow, refresh, { signal, onStart })
}

/** Follows while the page can be seen. Somebody who returns to it finds what is new. */
function useRefresh(queryKey: readonly unknown[], follow: Follow | undefined): void {
  const queries = useQueryClient()
  const isVisible = usePageVisibility()
  const name = follow && isVisible && JSON.stringify(queryKey)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key names what is followed
  useEffect(() => {
    if (!follow || !isVisible) return
    const stop = new AbortController()
    refreshOnChange(queries, queryKey, follow, stop.signal).catch((error: unknown) => {
      // Who may not follow a record any more may not see it either: its pages find out.
      if (isDenied(error)) queries.invalidateQueries({ queryKey })
    })
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

/** Keeps what concerns the user's own account up to date, also while they act for somebody. */
export function useLiveAccount(mvUid: string): void {
  useRefresh(accountKey(mvUid), (more) =>
    ownApi.follow('/auth/account/{mvUid}/changes', { params: { path: { mvUid }, query }, ...more }),
  )
}
