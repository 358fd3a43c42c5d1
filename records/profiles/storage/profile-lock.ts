import type { ClientSession } from 'mongodb'
import type { StoreContext, Transaction } from '../../store/writing/transaction.ts'

/** State that concerns all records of one person. */
interface ProfileState {
  /** The user's id. */
  _id: string
  /** The highest number given to a relation so far. */
  relations?: number
  /** Counts the transactions under the lock. */
  turns?: number
  /** The person was removed on purpose. */
  removed?: true
  /** The version of that removal. */
  removalVersion?: number
}

export const profileStatesOf = ({ db }: Pick<StoreContext, 'db'>) =>
  db.collection<ProfileState>('profile.ledger')

/**
 * Locks a person's profile: transactions that depend on several of the person's records run one after the
 * other. If several conflict, one commits; the others retry and see its result.
 */
export async function lockProfile(
  context: StoreContext,
  { session, locks }: Transaction,
  mvUid: string,
): Promise<void> {
  locks.contendFor(mvUid)
  await profileStatesOf(context).updateOne({ _id: mvUid }, { $inc: { turns: 1 } }, { upsert: true, session })
}

/** Assigns the number of a new relation: the requested one, or one above the highest so far. */
export async function assignRelationNumber(
  context: StoreContext,
  { session, locks }: Transaction,
  mvUid: string,
  requestedNumber: number | undefined,
): Promise<number> {
  locks.contendFor(mvUid)
  const change =
    requestedNumber === undefined ? { $inc: { relations: 1 } } : { $max: { relations: requestedNumber } }
  const options = { upsert: true, returnDocument: 'after', session } as const
  const after = await profileStatesOf(context).findOneAndUpdate({ _id: mvUid }, change, options)
  return requestedNumber ?? after?.relations ?? 1
}

export async function recordProfileDeletion(
  context: StoreContext,
  { session }: Transaction,
  mvUid: string,
  removalVersion: number,
): Promise<void> {
  await profileStatesOf(context).updateOne(
    { _id: mvUid },
    { $set: { removed: true, removalVersion } },
    { upsert: true, session },
  )
}

/** The first version of a person: versions of a removed one do not occur again, since clients may still have them. */
export async function firstPersonVersion(
  context: StoreContext,
  { session }: Transaction,
  mvUid: string,
): Promise<number> {
  const state = await profileStatesOf(context).findOne({ _id: mvUid }, { session })
  return (state?.removalVersion ?? 0) + 1
}

/** Finds the users among others who removed their persons on purpose. */
export async function findDeletedProfiles(
  context: StoreContext,
  mvUids: readonly string[],
): Promise<Set<string>> {
  const deletedProfiles = profileStatesOf(context).find({ _id: { $in: [...mvUids] }, removed: true })
  return new Set((await deletedProfiles.toArray()).map(({ _id }) => _id))
}

export const isProfileDeleted = async (context: StoreContext, mvUid: string): Promise<boolean> =>
  (await findDeletedProfiles(context, [mvUid])).has(mvUid)

/** Deletes the state of a deleted user. */
export async function forgetProfileState(
  context: Pick<StoreContext, 'db'>,
  mvUid: string,
  session: ClientSession,
) {
  await profileStatesOf(context).deleteOne({ _id: mvUid }, { session })
}
