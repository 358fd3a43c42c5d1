import { type ComponentType, useEffect, useReducer, useState } from 'react'
import { Skeleton } from './skeleton.tsx'

/** A component whose code loads when it is first shown, or before that by `load`. */
export interface LaterComponent<P> {
  Loaded: ComponentType<P> | undefined
  load(): Promise<void>
}

export function loadLater<P>(load: () => Promise<{ default: ComponentType<P> }>): LaterComponent<P> {
  let loading: Promise<void> | undefined
  const later: LaterComponent<P> = {
    Loaded: undefined,
    load() {
      loading ??= load().then((module) => {
        later.Loaded = module.default
      })
      return loading
    },
  }
  return later
}

interface LaterProps<P> {
  show: LaterComponent<P>
  props: P
}

/**
 * Shows a component at once if its code is there. React's `lazy` would show the fallback first, and then delay everything
 * that appears within 300 ms of it.
 */
export function Later<P extends object>({ show, props }: LaterProps<P>) {
  const [, showAgain] = useReducer((count: number) => count + 1, 0)
  const [failure, setFailure] = useState<{ reason: unknown }>()
  useEffect(() => {
    if (!show.Loaded) show.load().then(showAgain, (reason: unknown) => setFailure({ reason }))
  }, [show])
  if (failure) throw failure.reason
  return show.Loaded ? <show.Loaded {...props} /> : <Skeleton lines={6} />
}
