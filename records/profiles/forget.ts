import type { ClientSession, Db } from 'mongodb'
import { forgetChanges, forgetChangesWithin } from '../history.ts'
import { belonging, rangeOf } from './owner.ts'

interface Stored {
  _id: string
  other?: string
}

/** One record for each person, by the user's id. */
export const BY_PERSON = ['profile.persons', 'profile.pictures'] as const
const CONNECTIONS = 'profile.connections'
/** Any number of records for each person, by ids that begin with the user's. */
export const BELONGINGS = ['profile.relations', 'profile.addresses', 'profile.contacts', CONNECTIONS] as const

/** Removes all that is kept about a person and its history, in the caller's transaction: nobody can bring it back. */
export async function forgetPerson(db: Db, mvUid: string, session: ClientSession): Promise<void> {
  await forgetOtherSides(db, mvUid, session)
  for (const name of BY_PERSON) {
    await db.collection<Stored>(name).deleteOne({ _id: mvUid }, { session })
    await forgetChanges(db, name, mvUid, session)
  }
  for (const name of BELONGINGS) {
    await db.collection<Stored>(name).deleteMany({ _id: rangeOf(mvUid) }, { session })
    await forgetChangesWithin(db, name, rangeOf(mvUid), session)
  }
}

/** What the others in the person's network have about their connections. */
async function forgetOtherSides(db: Db, mvUid: string, session: ClientSession): Promise<void> {
  const connections = db.collection<Stored>(CONNECTIONS)
  const mine = await connections.find({ _id: rangeOf(mvUid) }, { session }).toArray()
  for (const { other = '' } of mine) {
    await connections.deleteOne({ _id: belonging(other, mvUid) }, { session })
    await forgetChanges(db, CONNECTIONS, belonging(other, mvUid), session)
  }
}
