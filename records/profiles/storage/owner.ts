import { Type } from '@sinclair/typebox'
import type { Permissions } from '../../store/documents/caller.ts'
import { idsWithPrefix } from '../../store/documents/ids.ts'

/** The owner of an address or contact: the person (relationId null), or one of their relations. */
export interface Owner {
  mvUid: string
  relationId: number | null
}

/** The owner as one field, so that one index lists an owner's addresses and contacts. */
export const ownerFields = { owner: Type.String() }
export const ownerFieldOf = ({ mvUid, relationId }: Owner) => ({
  owner: relationId === null ? mvUid : `${mvUid}/${relationId}`,
})

/**
 * The stored id of a record that belongs to a person. It begins with the user's id, so that all records about
 * a person, history included, lie next to each other: one range finds, exports and deletes them.
 */
export const ownedRecordId = (mvUid: string, id: string): string => `${mvUid}-${id}`

/** Selects an address or contact only if it belongs to this owner. */
export const ownedRecordKey = (owner: Owner, id: string) => ({
  id: ownedRecordId(owner.mvUid, id),
  ...ownerFieldOf(owner),
})

/** The range of ids of all records about a person: the user's own id, and those in which a hyphen or slash follows it. */
export const ownedIdRange = (mvUid: string) => ({ ...idsWithPrefix(`${mvUid}/`), $gte: mvUid })

/** The id that clients see. */
export const publicIdOf = (storedId: string): string => storedId.slice(storedId.indexOf('-') + 1)

/** The role of a person's connected users; it exists only while a request is served. */
export const connectionRole = (mvUid: string): string => `connection-of-${mvUid}`

const profileWriters = (mvUid: string): string[] => [mvUid, 'role:admin']

export const privatePermissions = (mvUid: string): Permissions => ({
  read: profileWriters(mvUid),
  write: profileWriters(mvUid),
})

export const permissionsSharedWithConnections = (mvUid: string): Permissions => ({
  read: [...profileWriters(mvUid), `role:${connectionRole(mvUid)}`],
  write: profileWriters(mvUid),
})
