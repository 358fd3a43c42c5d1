import type { UseQueryResult } from '@tanstack/react-query'
import { type ReactNode, useDeferredValue } from 'react'
import { FailureNote } from './failure-note.tsx'
import { Skeleton } from './skeleton.tsx'

interface LoadedProps<T> {
  query: UseQueryResult<T>
  lines?: number
  children: (data: T) => ReactNode
}

/**
 * What was read; until then a skeleton, and after a failure the reason. What was read before stays visible. The first time
 * it renders as a transition, which React cuts into short tasks.
 */
export function Loaded<T>({ query, lines, children }: LoadedProps<T>) {
  const { data, error, refetch } = query
  const isReady = useDeferredValue(data !== undefined)
  return (
    <>
      {error !== null && <FailureNote error={error} onRetry={() => refetch()} />}
      {data === undefined || !isReady ? error === null && <Skeleton lines={lines ?? 3} /> : children(data)}
    </>
  )
}
