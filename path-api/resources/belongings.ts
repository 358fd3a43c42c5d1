import type { Owner } from '../../records/profiles/owner/owner.ts'
import { relationNumberOf } from '../../records/profiles/relations/relations.ts'

/** Where addresses and contacts are mounted: they are the same for a person and for each of their relations. */
export interface Mount {
  path: '/profile/{mvUid}' | '/profile/{mvUid}/relation/{relationId}'
  /** In the operations' ids: `addAddress`, `addRelationAddress`. */
  of: '' | 'Relation'
  /** In the operations' summaries. */
  whose: string
}

export const mounts: readonly Mount[] = [
  { path: '/profile/{mvUid}', of: '', whose: 'of a person' },
  { path: '/profile/{mvUid}/relation/{relationId}', of: 'Relation', whose: 'of a relation' },
]

interface OwnerParams {
  mvUid: string
  /** Only where the path names one. */
  relationId?: string
}

/** Whose address or contact the path names. */
export const ownerOf = ({ mvUid, relationId }: OwnerParams): Owner => ({
  mvUid,
  relationId: relationId === undefined ? null : relationNumberOf(relationId),
})

/** The owner's own path, for a Location. */
export const pathOf = ({ mvUid, relationId }: OwnerParams): string =>
  relationId === undefined ? `/profile/${mvUid}` : `/profile/${mvUid}/relation/${relationId}`
