import type { ClientSession, Db } from 'mongodb'
import { forgetChangesWithin } from '../../store/writing/history.ts'
import { collections } from '../owner/collections.ts'
import { belongingId, rangeOf } from '../owner/owner.ts'

interface Stored {
  _id: string
  other?: string
}

/** Removes all that is kept about a person and its history, in the caller's transaction: nobody can bring it back. */
export async function forgetPerson(db: Db, mvUid: string, session: ClientSession): Promise<void> {
  await forgetOtherSides(db, mvUid, session)
  for (const name of Object.values(collections)) {
    await db.collection<Stored>(name).deleteMany({ _id: rangeOf(mvUid) }, { session })
    await forgetChangesWithin(db, rangeOf(`${name}/${mvUid}`), session)
  }
}

/** What the others in the person's network have about their connections. */
async function forgetOtherSides(db: Db, mvUid: string, session: ClientSession): Promise<void> {
  const connections = db.collection<Stored>(collections.connection)
  const mine = await connections.find({ _id: rangeOf(mvUid) }, { session }).toArray()
  for (const { other = '' } of mine) {
    const id = belongingId(other, mvUid)
    await connections.deleteOne({ _id: id }, { session })
    await forgetChangesWithin(db, rangeOf(`${collections.connection}/${id}`), session)
  }
}
