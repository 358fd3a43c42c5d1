import { useSyncExternalStore } from 'react'

function subscribe(listener: () => void) {
  document.addEventListener('visibilitychange', listener)
  return () => document.removeEventListener('visibilitychange', listener)
}

const isPageVisible = () => document.visibilityState === 'visible'

/** Whether somebody can see the page: it is in the tab that its window shows. */
export const usePageVisibility = (): boolean => useSyncExternalStore(subscribe, isPageVisible)
