import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { api } from '../session/session.ts'
import { ehrKey } from './queries.ts'

/** Changes that follow each other closely refresh a page once. */
const REFRESH_DELAY_MS = 150

async function followEhr(queries: QueryClient, ehrId: string, signal: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const refresh = () => {
    clearTimeout(timer)
    timer = setTimeout(() => queries.invalidateQueries({ queryKey: ehrKey(ehrId) }), REFRESH_DELAY_MS)
  }
  // A stream that cannot be resumed is none; the pages then show what they read.
  const events = api.follow('/ehr/{ehrId}/changes', {
    params: { path: { ehrId } },
    signal,
    onInterruption: refresh,
  })
  for await (const _ of events) refresh()
}

/** Keeps what is on the screen up to date. Forms have a state of their own, so nothing that is typed changes. */
export function useLiveEhr(ehrId: string): void {
  const queries = useQueryClient()
  useEffect(() => {
    if (ehrId === '') return
    const stop = new AbortController()
    followEhr(queries, ehrId, stop.signal).catch(() => {})
    return () => stop.abort()
  }, [queries, ehrId])
}
