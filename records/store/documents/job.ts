import type { Db } from 'mongodb'
import type { ActingHelper } from '../../../schemas/accounts/helper.ts'
import type { Caller } from './caller.ts'

/** As stored: `acting` is the helper of the caller. */
type JobRequester = Pick<Caller, 'userId' | 'application' | 'requestId'> & { acting?: ActingHelper }

/** The user who requested a job, as a caller without roles. */
export const jobRequesterOf = ({ by: { acting, ...requester } }: Pick<Job, 'by'>) => ({
  ...requester,
  ...(acting && { helper: acting }),
})

/** Work in several transactions. It is stored until it is done, so that any instance can resume it. */
export interface Job {
  _id: string
  /** The name of the job's handler. */
  job: string
  /** The job covers all documents with this id in this field. */
  field: 'ehrId' | 'carePlanId' | 'goalId' | 'taskId' | 'eventId' | 'exportId' | 'userId'
  id: string
  ehrId: string
  /** The user who requested it. History and audit name them, whichever instance runs it. */
  by: JobRequester
  /** Further parameters of the job. */
  details?: unknown
  /** Readers and collections whose reads wait for the job. Absent: the documents are hidden from everybody. */
  waiting?: { readers: string[]; collections: string[] }
  /** The care plan with that id is hidden, too. */
  hidesPlan?: true
  /** Afterwards another instance may take the job over. */
  leaseUntil: Date
}

/** The job hides no documents, and no read waits for it. */
export const UNSEEN_JOB = { ehrId: '', waiting: { readers: [], collections: [] } } satisfies Partial<Job>

/** The running and pending jobs. */
export interface BackgroundJobs {
  /** The database including hidden documents. */
  readonly unfilteredDb: Db
  /** Starts a job that a committed transaction has queued. */
  startJob(work: Job): void
  /** Resolves when the job is done. @returns false after the timeout of `ms` milliseconds */
  waitUntilDone(id: string, ms: number): Promise<boolean>
}
