import type { ClientSession } from 'mongodb'
import { eraseAgreementsOf } from '../../accounts/helpers/helper-agreement.ts'
import { networkRole } from '../../ehrs/rights/access.ts'
import { removeRoles } from '../../ehrs/rights/roles.ts'
import type { Database } from '../../store/documents/database.ts'
import { deleteHistory } from '../../store/writing/history.ts'
import { ownedIdRange, ownedRecordId } from '../storage/owner.ts'
import { PROFILE_COLLECTIONS } from '../storage/profile-collections.ts'

interface ProfileDocument {
  _id: string
  other?: string
}

/**
 * Deletes what these collections contain about a person, the agreements with helpers, and the history of both, in the
 * caller's transaction. It cannot be undone.
 */
export async function erasePerson(
  database: Database,
  mvUid: string,
  session: ClientSession,
  collections: Partial<typeof PROFILE_COLLECTIONS>,
): Promise<void> {
  const { db } = database
  await eraseAgreementsOf(database, session, mvUid)
  await eraseConnectionsOfOthers(database, mvUid, session)
  for (const name of Object.values(collections)) {
    await db.collection<ProfileDocument>(name).deleteMany({ _id: ownedIdRange(mvUid) }, { session })
    await deleteHistory(db, ownedIdRange(`${name}/${mvUid}`), session)
  }
}

/**
 * Deletes the other users' records of their connections, and the roles that let both sides read their chats.
 */
async function eraseConnectionsOfOthers(
  database: Database,
  mvUid: string,
  session: ClientSession,
): Promise<void> {
  const { db } = database
  const connections = db.collection<ProfileDocument>(PROFILE_COLLECTIONS.connection)
  const mine = await connections.find({ _id: ownedIdRange(mvUid) }, { session }).toArray()
  for (const { other = '' } of mine) {
    const id = ownedRecordId(other, mvUid)
    await connections.deleteOne({ _id: id }, { session })
    await deleteHistory(db, ownedIdRange(`${PROFILE_COLLECTIONS.connection}/${id}`), session)
  }
  const pairs = mine.map(({ other = '' }) => networkRole(mvUid, other))
  if (pairs.length > 0) await removeRoles(database, session, pairs)
}
