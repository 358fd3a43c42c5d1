import type { Db } from 'mongodb'
import type { Caller } from './caller.ts'

/** Who has asked for a work: its history and its audit name them, whichever instance does it. */
type Asker = Pick<Caller, 'userId' | 'application' | 'requestId'>

/** Work that takes more than one transaction. It is kept in the database until it is done: any instance goes on with it. */
export interface Work {
  _id: string
  /** What is to be done, one of the jobs that the service knows. */
  job: string
  /** All that has this id in this field is part of it. */
  field: 'ehrId' | 'carePlanId' | 'goalId' | 'taskId' | 'eventId'
  id: string
  ehrId: string
  by: Asker
  /** What else the job needs to know. */
  details?: unknown
  /** Who may read what is part of it, and in which collections: they wait until it is done. Absent: it is hidden from everybody. */
  waiting?: { readers: string[]; collections: string[] }
  /** Whether the care plan of that id itself is hidden, too. */
  hidesPlan?: true
  /** When another instance takes it over. */
  leaseUntil: Date
}

/** The works that are under way. */
export interface Works {
  /** Everything, also what is hidden. */
  readonly db: Db
  /** Does a work that a transaction has written, from now on. */
  begin(work: Work): void
  /** Resolves when it is done. @returns false when it takes longer than that */
  done(id: string, ms: number): Promise<boolean>
}
