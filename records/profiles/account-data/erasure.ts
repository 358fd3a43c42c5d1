import type { ClientSession } from 'mongodb'
import { eraseAgreementsOf } from '../../accounts/helpers/helper-agreement.ts'
import { networkRole } from '../../ehrs/rights/access.ts'
import { removeRoles } from '../../ehrs/rights/roles.ts'
import { parseChangeId } from '../../history/changes.ts'
import type { Database } from '../../store/documents/database.ts'
import { deleteHistory, historyCollection } from '../../store/writing/history.ts'
import { ownedIdRange, ownedRecordId, publicIdOf } from '../storage/owner.ts'
import { PROFILE_COLLECTIONS } from '../storage/profile-collections.ts'

interface ProfileDocument {
  _id: string
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
 * Deletes the other users' records of their connections, also of those that have ended, and the roles that let both
 * sides read their chats.
 */
async function eraseConnectionsOfOthers(
  database: Database,
  mvUid: string,
  session: ClientSession,
): Promise<void> {
  const { db } = database
  const otherUserIds = await findConnectedUsers(database, mvUid, session)
  for (const other of otherUserIds) {
    const id = ownedRecordId(other, mvUid)
    await db.collection<ProfileDocument>(PROFILE_COLLECTIONS.connection).deleteOne({ _id: id }, { session })
    await deleteHistory(db, { collection: PROFILE_COLLECTIONS.connection, id }, session)
  }
  const pairs = otherUserIds.map((other) => networkRole(mvUid, other))
  if (pairs.length > 0) await removeRoles(database, session, pairs)
}

/** Finds the users with whom a person is connected, or was before. */
async function findConnectedUsers(
  { db }: Database,
  mvUid: string,
  session: ClientSession,
): Promise<string[]> {
  const name = PROFILE_COLLECTIONS.connection
  const options = { session, projection: { _id: 1 } }
  const connections = db.collection<ProfileDocument>(name).find({ _id: ownedIdRange(mvUid) }, options)
  const changes = historyCollection(db).find({ _id: ownedIdRange(`${name}/${mvUid}`) }, options)
  const ids = [
    ...(await connections.toArray()).map(({ _id }) => _id),
    ...(await changes.toArray()).map(({ _id }) => parseChangeId(_id).id),
  ]
  return [...new Set(ids.map(publicIdOf))]
}
