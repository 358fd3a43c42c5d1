import type { ClientSession, Db, Document, Filter } from 'mongodb'
import { iterateIdBatches } from '../../store/batching/transaction-batches.ts'
import { documentCollection } from '../../store/documents/database.ts'
import type { ParseDocument } from '../../store/documents/parse-format.ts'
import type { JobSteps } from '../../store/jobs/background-jobs.ts'

/**
 * The records of a deleted EHR, care plan, goal, task or event. Each of their permission entries gets a
 * prefix, so they match nobody and can come back. The prefix names the deleted object: records whose goal,
 * plan and EHR are deleted one after the other have three, and come back in the reverse order.
 */
export interface HiddenRecords {
  /** The records that have the prefix. */
  hidden: Filter<ParseDocument>
  visible: Filter<ParseDocument>
  hide: ChangeDocuments
  show: ChangeDocuments
}

type ChangeDocuments = (
  db: Db,
  name: string,
  which: Filter<ParseDocument>,
  session: ClientSession,
) => Promise<unknown>

/** @param prefix of letters, digits, `-` and `:` */
export function hiddenRecordsWith(prefix: string): HiddenRecords {
  const startsWithPrefix = { $regex: `^${prefix}` }
  return {
    hidden: { _rperm: startsWithPrefix },
    visible: { _rperm: { $not: startsWithPrefix } },
    hide: changeOf({ $concat: [prefix, '$$who'] }),
    show: changeOf({ $replaceOne: { input: '$$who', find: prefix, replacement: '' } }),
  }
}

/** The prefixes of a record, in an update; empty if it is visible, or has no permissions. */
const PREFIXES_OF_RECORD = {
  $let: {
    vars: { found: { $regexFind: { input: { $first: '$_rperm' }, regex: '^(removed-[^:]+:)*' } } },
    in: { $ifNull: ['$$found.match', ''] },
  },
}

/** The update that lets a user read and write records. Hidden ones stay hidden, and are the user's when they return. */
export function permissionFor(userId: string): Document[] {
  const entry = { $concat: [PREFIXES_OF_RECORD, userId] }
  const withEntry = (field: string) => ({ $concatArrays: [field, [entry]] })
  return [{ $set: { _rperm: withEntry('$_rperm'), _wperm: withEntry('$_wperm') } }]
}

const changeOf =
  (entry: object): ChangeDocuments =>
  (db, name, which, session) => {
    const mapEntries = (field: string) => ({ $map: { input: field, as: 'who', in: entry } })
    const change = [{ $set: { _rperm: mapEntries('$_rperm'), _wperm: mapEntries('$_wperm') } }]
    return documentCollection({ db }, name).updateMany(which, change, { session })
  }

interface StepwiseChange {
  collections: readonly string[]
  /** All records to change, by an indexed field. */
  which: Filter<ParseDocument>
  /** The condition that the change itself removes. */
  still: Filter<ParseDocument>
  change: ChangeDocuments
}

/** Changes all matching records in steps. */
export async function changeInSteps(
  { unfilteredDb: db, runStep }: JobSteps,
  { collections, which, still, change }: StepwiseChange,
): Promise<void> {
  // The filter of a step has no indexed field: with its index, each step would scan all records.
  for (const name of collections)
    for await (const ids of iterateIdBatches(documentCollection({ db }, name), { ...which, ...still }))
      await runStep(({ session }) => change(db, name, { ...still, _id: { $in: ids } }, session))
}
