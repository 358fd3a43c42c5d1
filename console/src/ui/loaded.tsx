import type { UseQueryResult } from '@tanstack/react-query'
import { isProblem } from 'health-record-client'
import { type ReactNode, useDeferredValue } from 'react'
import { useText } from '../texts/translate.ts'
import { FailureNote } from './failure-note.tsx'
import { Heading } from './heading.tsx'
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

interface LoadedPageProps<T> {
  query: UseQueryResult<T>
  children: (data: T) => ReactNode
}

/** A page about one record. Its heading is among the children, so a failure brings another one. */
export function LoadedPage<T>({ query, children }: LoadedPageProps<T>) {
  if (query.error !== null && query.data === undefined) return <FailedPage query={query} />
  return <Loaded query={query}>{children}</Loaded>
}

/** A page whose record could not be read, or does not exist. */
export function FailedPage({ query: { error, refetch } }: { query: UseQueryResult<unknown> }) {
  const t = useText()
  return (
    <>
      <Heading title={t(isProblem(error, 'not-found') ? 'notFound.title' : 'failure.title')} />
      <FailureNote error={error} onRetry={() => refetch()} />
    </>
  )
}
