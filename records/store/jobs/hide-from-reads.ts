import { type ClientSession, MongoServerError } from 'mongodb'
import { unavailableError } from '../documents/outage.ts'
import { QUERY_TIMEOUT_MS } from '../reading/deadlines.ts'
import type { ReadCheck } from '../reading/read-checks.ts'
import type { JobRunner } from './background-jobs.ts'

/** Hides documents from all reads while a job changes them, and delays reads that would see half-done changes. */
export const hideFromReads =
  (jobRunner: JobRunner): ReadCheck =>
  ({ collection, filter, options: { session } }) => {
    const hiddenFilters = jobRunner.hiddenFilters(collection, session)
    const blockingJobs = jobRunner.blockingJobs(collection, filter, session)
    const { $nor = [] } = filter as { $nor?: object[] }
    return {
      ...(hiddenFilters.length > 0 && { filter: { ...filter, $nor: [...$nor, ...hiddenFilters] } }),
      ...(blockingJobs.length > 0 && { beforeSending: () => waitForJobs(jobRunner, blockingJobs, session) }),
    }
  }

/** Ends before the query timeout would. */
const READ_WAIT_TIMEOUT_MS = QUERY_TIMEOUT_MS - 1000

/** A transaction would still read its old snapshot: it is retried instead. */
async function waitForJobs(
  jobRunner: JobRunner,
  ids: string[],
  session: ClientSession | undefined,
): Promise<void> {
  if (session?.inTransaction())
    throw new MongoServerError({
      message: 'A background job is still changing this record',
      code: 112,
      errorLabels: ['TransientTransactionError'],
    })
  for (const id of ids)
    if (!(await jobRunner.waitUntilDone(id, READ_WAIT_TIMEOUT_MS))) throw unavailableError()
}
