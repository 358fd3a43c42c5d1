import type { ClientSession } from 'mongodb'
import { pairRole } from '../../ehrs/rights/access.ts'
import { removeRoles } from '../../ehrs/rights/roles.ts'
import type { Database } from '../../store/documents/database.ts'
import { forgetChangesWithin } from '../../store/writing/history.ts'
import { collections } from '../owner/collections.ts'
import { belongingId, rangeOf } from '../owner/owner.ts'

interface Stored {
  _id: string
  other?: string
}

/** Removes all that is kept about a person and its history, in the caller's transaction: nobody can bring it back. */
export async function forgetPerson(database: Database, mvUid: string, session: ClientSession): Promise<void> {
  const { db } = database
  await forgetOtherSides(database, mvUid, session)
  for (const name of Object.values(collections)) {
    await db.collection<Stored>(name).deleteMany({ _id: rangeOf(mvUid) }, { session })
    await forgetChangesWithin(db, rangeOf(`${name}/${mvUid}`), session)
  }
}

/** What the others in the person's network have about their connections, and what both said to each other. */
async function forgetOtherSides(database: Database, mvUid: string, session: ClientSession): Promise<void> {
  const { db } = database
  const connections = db.collection<Stored>(collections.connection)
  const mine = await connections.find({ _id: rangeOf(mvUid) }, { session }).toArray()
  for (const { other = '' } of mine) {
    const id = belongingId(other, mvUid)
    await connections.deleteOne({ _id: id }, { session })
    await forgetChangesWithin(db, rangeOf(`${collections.connection}/${id}`), session)
  }
  const pairs = mine.map(({ other = '' }) => pairRole(mvUid, other))
  if (pairs.length > 0) await removeRoles(database, session, pairs)
}
