import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query'
import { isProblem, type Problem } from 'health-record-client'
import { ehrKey, isDenied } from '../../model/queries.ts'
import { clientFor } from '../../session/user-session.ts'
import { isRefusal, isUnanswered, sendMeasurement } from '../measurement/send-measurement.ts'
import {
  mayQueue,
  type QueuedMeasurement,
  queueQuery,
  refreshQueue,
  refusalOf,
  removeFromQueue,
  replaceInQueue,
  useQueue,
  useQueueAccount,
} from './measurement-queue.ts'

/** A service that was away tells nobody that it is back. */
const RETRY_INTERVAL_MS = 10_000

/** Sends one that waits. @returns false if no other one need be tried now */
async function sendQueued(measurement: QueuedMeasurement, signal: AbortSignal): Promise<boolean> {
  const { account, helped } = measurement
  try {
    await sendMeasurement(clientFor(account, helped), measurement, { keep: replaceInQueue, signal })
    await removeFromQueue(measurement)
  } catch (error) {
    if (!isProblem(error)) throw error
    if (isUnanswered(error)) return false
    if (isRefusal(error)) await replaceInQueue(refusedBy(error, measurement))
  }
  return true
}

/** Who may not see the record any more does not keep its name either. */
function refusedBy(problem: Problem, { patient, ...measurement }: QueuedMeasurement): QueuedMeasurement {
  const isNamed = patient !== undefined && !isDenied(problem)
  return { ...measurement, ...(isNamed && { patient }), refusal: refusalOf(problem) }
}

async function sendQueue(queries: QueryClient, account: string, signal: AbortSignal): Promise<void> {
  for (const measurement of await queries.fetchQuery(queueQuery(account))) {
    if (measurement.refusal) continue
    if (!mayQueue(account)) return
    if (!(await sendQueued(measurement, signal))) return
    await refreshQueue(queries, account)
    queries.invalidateQueries({ queryKey: ehrKey(measurement.ehrId) })
  }
}

/** Sends what waits: at once, when the network returns, and every few seconds. Ends with the session. */
export function useSendQueue(): void {
  const queries = useQueryClient()
  const account = useQueueAccount()
  const isWaiting = useQueue()?.some(({ refusal }) => !refusal) ?? false
  useQuery({
    queryKey: ['send-queue', account],
    // The signal ends requests at a log-out, before they could be sent in the name of the next user.
    queryFn: ({ signal }) => sendQueue(queries, account, signal).then(() => null),
    enabled: isWaiting,
    staleTime: 0,
    refetchInterval: RETRY_INTERVAL_MS,
    throwOnError: false,
  })
}
