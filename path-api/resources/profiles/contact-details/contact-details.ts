import { relationNumberOf } from '../../../../records/profiles/relations/relations.ts'
import type { Owner } from '../../../../records/profiles/storage/owner.ts'

/** Prefix for addresses and contacts, which persons and relations share. */
export interface ContactDetailsPrefix {
  path: '/profile/{mvUid}' | '/profile/{mvUid}/relation/{relationId}'
  /** Part of the operation ids: `addAddress`, `addRelationAddress`. */
  of: '' | 'Relation'
  /** Part of the summaries. */
  whose: string
}

export const CONTACT_DETAILS_PREFIXES: readonly ContactDetailsPrefix[] = [
  { path: '/profile/{mvUid}', of: '', whose: 'of a person' },
  { path: '/profile/{mvUid}/relation/{relationId}', of: 'Relation', whose: 'of a relation' },
]

interface OwnerParams {
  mvUid: string
  /** Only in paths of relations. */
  relationId?: string
}

/** Owner of the address or contact in the path. */
export const ownerFromParams = ({ mvUid, relationId }: OwnerParams): Owner => ({
  mvUid,
  relationId: relationId === undefined ? null : relationNumberOf(relationId),
})

/** Path of the owner, for Location. */
export const ownerPath = ({ mvUid, relationId }: OwnerParams): string =>
  relationId === undefined ? `/profile/${mvUid}` : `/profile/${mvUid}/relation/${relationId}`
