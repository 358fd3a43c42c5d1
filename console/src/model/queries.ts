import { type Query, QueryCache, QueryClient } from '@tanstack/react-query'
import { isProblem } from 'health-record-client'

/** Whether the service does not show this to the user, or not any more. */
export const isDenied = (error: unknown): boolean =>
  isProblem(error) && (error.status === 403 || error.status === 404)

/** Forgets what may not be seen any more. The rest of the same record is read again: access to it may have ended, too. */
function forgetDenied(queries: QueryClient, query: Query<unknown, unknown>): void {
  query.setState({ data: undefined, dataUpdatedAt: 0 })
  const [scope, id] = query.queryKey
  const isShown = ({ state }: Query) => state.data !== undefined
  if (scope === EHR) queries.invalidateQueries({ queryKey: [scope, id], predicate: isShown })
}

/** The client already retries what may pass. */
export function createQueryClient(): QueryClient {
  const queries: QueryClient = new QueryClient({
    queryCache: new QueryCache({
      onError(error, query) {
        if (isDenied(error)) forgetDenied(queries, query)
      },
    }),
    defaultOptions: {
      queries: {
        retry: false,
        staleTime: 30_000,
        refetchOnWindowFocus: true,
        // A browser may wrongly say that there is no network. A query that is tried shows why it fails.
        networkMode: 'always',
        refetchOnReconnect: true,
        // A faulty page shows its data as long as it has some.
        throwOnError: (error, { state }) => !isProblem(error) && state.data === undefined,
      },
    },
  })
  return queries
}

/** For what no stream of changes covers: each return to the page reads it again. */
export const READ_ON_RETURN = { staleTime: 0 }

const EHR = 'ehr'
/** Everything below an EHR has this key first, so that its live changes refresh it. */
export const ehrKey = (ehrId: string, ...rest: readonly unknown[]) => [EHR, ehrId, ...rest] as const
/** Everything below all EHRs. */
export const EHRS_KEY = [EHR] as const

/** Everything that concerns an account has this key first. */
export const accountKey = (mvUid: string, ...rest: readonly unknown[]) => ['account', mvUid, ...rest] as const

/** Everything in the worklist has this key first. */
export const WORKLIST_KEY = ['worklist'] as const
