import { Type } from '@sinclair/typebox'
import type { Caller, Permissions } from '../../store/documents/caller.ts'

/** Whose address or contact it is: the person's own (null), or that of one of their relations. */
export interface Owner {
  mvUid: string
  relationId: number | null
}

/** The owner as addresses and contacts name it: one field, by which they are listed. */
export const ownerFields = { owner: Type.String() }
export const ownedBy = ({ mvUid, relationId }: Owner) => ({
  owner: relationId === null ? mvUid : `${mvUid}/${relationId}`,
})

/**
 * The stored id of what belongs to a person. It begins with the user's id, so that all that is kept about one person,
 * history included, is stored together and is found, exported and removed by one range.
 */
export const belongingId = (mvUid: string, id: string): string => `${mvUid}-${id}`

/** An address or a contact of this owner and no other. */
export const keyOf = (owner: Owner, id: string) => ({ id: belongingId(owner.mvUid, id), ...ownedBy(owner) })

/** The stored ids of all that is kept about a person: the user's own, and those of belongings; '0' follows '/'. */
export const rangeOf = (mvUid: string) => ({ $gte: mvUid, $lt: `${mvUid}0` })

/** The id that clients see. */
export const ownId = (stored: string): string => stored.slice(stored.indexOf('-') + 1)

/** The role of those whom a person is connected with; it exists only while a request is served. */
export const connectionRole = (mvUid: string): string => `connection-of-${mvUid}`

const writers = (mvUid: string): string[] => [mvUid, 'role:admin']

export const privateTo = (mvUid: string): Permissions => ({ read: writers(mvUid), write: writers(mvUid) })

export const sharedByConnection = (mvUid: string): Permissions => ({
  read: [...writers(mvUid), `role:${connectionRole(mvUid)}`],
  write: writers(mvUid),
})

/** The service itself, where it must know more than the caller may see. */
export const asService: Caller = {
  userId: '',
  roles: [],
  application: 'service',
  requestId: '',
  unrestricted: true,
}
