import { useSyncExternalStore } from 'react'

function subscribeToVisibility(listener: () => void) {
  document.addEventListener('visibilitychange', listener)
  return () => document.removeEventListener('visibilitychange', listener)
}

const isPageVisible = () => document.visibilityState === 'visible'

/** Whether somebody can see the page: it is in the tab that its window shows. */
export const usePageVisibility = (): boolean => useSyncExternalStore(subscribeToVisibility, isPageVisible)

const MINUTE_MS = 60_000

function subscribeToMinutes(listener: () => void) {
  const timer = setInterval(listener, MINUTE_MS / 2)
  const unsubscribe = subscribeToVisibility(listener)
  return () => {
    clearInterval(timer)
    unsubscribe()
  }
}

let minute = 0

/** A page that nobody sees keeps its minute. */
function readMinute(): number {
  if (isPageVisible()) minute = Math.floor(Date.now() / MINUTE_MS)
  return minute
}

/** Renders the component again in each minute, so that ages, "today" and "late" stay true on an open page. */
export const useEachMinute = (): number => useSyncExternalStore(subscribeToMinutes, readMinute)
