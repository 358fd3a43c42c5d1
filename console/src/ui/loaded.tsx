import type { UseQueryResult } from '@tanstack/react-query'
import { type ReactNode, useDeferredValue, useState } from 'react'
import { readTypedTexts } from '../browser/drafts.ts'
import { isDenied } from '../model/queries.ts'
import { useText } from '../texts/translate.ts'
import { PartFailure } from './failure-note.tsx'
import { Heading } from './heading.tsx'
import { Skeleton, TurningNote } from './skeleton.tsx'

interface LoadedProps<T> {
  query: UseQueryResult<T>
  lines?: number
  children: (data: T) => ReactNode
}

/**
 * What was read; until then a skeleton, and after a failure the reason. What was read before stays visible, as
 * long as the reader may see it. The first time it renders as a transition, which React cuts into short tasks.
 */
export function Loaded<T>({ query, lines, children }: LoadedProps<T>) {
  const t = useText()
  const { data, error, refetch } = query
  const isReady = useDeferredValue(data !== undefined)
  return (
    <>
      {error !== null && <PartFailure error={error} retry={refetch} />}
      {data !== undefined && isReady ? (
        children(data)
      ) : error === null ? (
        <Skeleton lines={lines ?? 3} />
      ) : (
        <p className="help">{t('notLoaded')}</p>
      )}
    </>
  )
}

/** A list that is read page by page. The former page stays, with a note, until the next one is there. */
export function LoadedList<T>({ query, children, ...rest }: LoadedProps<T>) {
  const isTurning = query.isPlaceholderData
  return (
    <Loaded query={query} {...rest}>
      {(data) => (
        <div aria-busy={isTurning}>
          {children(data)}
          {isTurning && <TurningNote />}
        </div>
      )}
    </Loaded>
  )
}

/**
 * How many parts of a page to show: from the top to the first whose query has no answer yet. Parts that came in another order
 * would push away what the reader is about to tap. What has been shown stays.
 * @returns Infinity once all have been shown
 */
export function useShownParts(queries: readonly Pick<UseQueryResult, 'isLoading'>[]): number {
  const [shown, setShown] = useState(0)
  const firstLoading = queries.findIndex(({ isLoading }) => isLoading)
  const next = firstLoading === -1 ? Number.POSITIVE_INFINITY : Math.max(shown, firstLoading + 1)
  if (next !== shown) setShown(next)
  return next
}

type Access = 'unknown' | 'granted' | 'refused' | 'ended'

/** Whether the reader may see what a query reads. Who saw it before learns that this has ended. */
function useAccess({ data, error }: UseQueryResult<unknown>): Access {
  const [access, setAccess] = useState<Access>('unknown')
  const denied = access === 'granted' || access === 'ended' ? 'ended' : 'refused'
  // While it is read again, it stays as it was.
  const unreadAccess = isDenied(error) ? denied : access
  const next = data === undefined ? unreadAccess : 'granted'
  if (next !== access) setAccess(next)
  return next
}

interface LoadedPageProps<T> {
  query: UseQueryResult<T>
  children: (data: T) => ReactNode
}

/** A page about one record. Its heading is among the children, so a failure brings another one. */
export function LoadedPage<T>({ query, children }: LoadedPageProps<T>) {
  const access = useAccess(query)
  if (access === 'ended') return <EndedPage query={query} />
  if (query.error !== null && query.data === undefined) return <FailedPage query={query} />
  return <Loaded query={query}>{children}</Loaded>
}

interface AccessiblePageProps {
  /** The query that shows whether the record may be seen. */
  query: UseQueryResult<unknown>
  children: ReactNode
}

/** A page of several parts about one record: if it may not be seen, one note stands for all of them. */
export function AccessiblePage({ query, children }: AccessiblePageProps) {
  const access = useAccess(query)
  if (access === 'ended') return <EndedPage query={query} />
  return access === 'refused' ? <FailedPage query={query} /> : children
}

/** A page whose record could not be read, or does not exist. */
function FailedPage({ query: { error, refetch } }: { query: UseQueryResult<unknown> }) {
  const t = useText()
  return (
    <>
      <Heading title={t(error === null || isDenied(error) ? 'notFound.title' : 'failure.title')} />
      {error !== null && <PartFailure error={error} retry={refetch} />}
    </>
  )
}

/** Stands for a page that its reader may not see any more. It shows nothing of the record, but what the reader typed. */
function EndedPage({ query: { refetch } }: { query: UseQueryResult<unknown> }) {
  const t = useText()
  const [texts] = useState(readTypedTexts)
  return (
    <>
      <Heading title={t('ended.title')} />
      <div role="alert" className="note">
        <p>{t('ended.help')}</p>
        <button type="button" onClick={() => refetch()}>
          {t('retry')}
        </button>
      </div>
      {texts.length > 0 && (
        <section aria-labelledby="typed">
          <h2 id="typed">{t('ended.typed')}</h2>
          {texts.map(({ label, text }) => (
            <p key={label} className="text">
              {label}: {text}
            </p>
          ))}
        </section>
      )}
    </>
  )
}
