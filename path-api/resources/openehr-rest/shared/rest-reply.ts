import type { RmObject } from '../../../../openehr/rm/canonical-json.ts'
import { toXml } from '../../../../openehr/rm/canonical-xml.ts'
import { versionUidOf } from '../../../../records/compositions/composition-record.ts'
import type { Preference } from '../../../operation/context.ts'
import { replyWith } from '../../../reply/reply.ts'
import { toRestEhrId } from '../shared/ehr-ids.ts'
import { REST_PATH } from '../shared/rest-operation.ts'

/** The element names of documents whose class is not their name. */
const ROOT_ELEMENTS: Readonly<Record<string, string>> = {
  ORIGINAL_VERSION: 'version',
  FOLDER: 'directory',
}

const rootElementOf = ({ _type }: RmObject): string => ROOT_ELEMENTS[_type] ?? _type.toLowerCase()

const serialize = (object: RmObject | string, mediaType: string): string => {
  if (typeof object === 'string') return object
  return mediaType === 'application/xml' ? toXml(object, rootElementOf(object)) : JSON.stringify(object)
}

interface Negotiated {
  /** Media type of the response. */
  accepted: string
}

/** Headers of a version: when it was committed. */
const versionHeaders = (updatedAt: string | undefined): Record<string, string> =>
  updatedAt === undefined ? {} : { 'last-modified': new Date(updatedAt).toUTCString() }

interface ShownVersion {
  /** Of the version; or of the object, if `isConstant`. */
  uid: string
  isConstant?: boolean
  updatedAt?: string | undefined
}

/** Replies with an object, or its text in the accepted format. */
export function replyWithObject(
  object: RmObject | string,
  { uid, isConstant = false, updatedAt }: ShownVersion,
  { accepted }: Negotiated,
) {
  const headers = { 'content-type': accepted, vary: 'Accept', ...versionHeaders(updatedAt) }
  return replyWith(serialize(object, accepted), { version: uid, isConstant, headers })
}

interface SavedVersion {
  id: string
  version: number
  updatedAt?: string | undefined
}

export const uidOf = (version: Pick<SavedVersion, 'id' | 'version'>): string => versionUidOf(version)

/** Replies with the object in a version; undefined: it is deleted in it. */
export function replyWithVersion(
  object: RmObject | string | undefined,
  version: SavedVersion,
  negotiation: Negotiated,
) {
  const uid = uidOf(version)
  if (object === undefined) return replyWith('', { version: uid, gone: true })
  return replyWithObject(object, { uid, updatedAt: version.updatedAt }, negotiation)
}

interface Changed {
  uid: string
  location: string
  updatedAt?: string | undefined
  /** The reply to a creation is a 201, to an update a 204 or 200. */
  isNew: boolean
}

/** A version of an object in an EHR that was committed. @param resource its segment in the path */
export function changeOf(ehrId: string, resource: string, version: SavedVersion, isNew = false): Changed {
  const uid = uidOf(version)
  const location = `${REST_PATH}/ehr/${toRestEhrId(ehrId)}/${resource}/${uid}`
  return { uid, location, updatedAt: version.updatedAt, isNew }
}

/** Replies to a deletion with the version that marks the object as deleted. */
export function replyToDeletion(...change: Parameters<typeof changeOf>) {
  const { uid, location } = changeOf(...change)
  return replyWith(undefined, { version: uid, location })
}

/** Replies to a change with as much of the object as the client prefers. */
export async function replyToChange(
  { uid, location, updatedAt, isNew }: Changed,
  { accepted, preference }: Negotiated & { preference: Preference },
  show: () => RmObject | Promise<RmObject | string>,
) {
  const headers: Record<string, string> = {
    ...versionHeaders(updatedAt),
    'preference-applied': `return=${preference}`,
    vary: 'Accept, Prefer',
  }
  const head = { version: uid, location }
  if (preference === 'minimal')
    return replyWith('', { ...head, headers, ...(isNew ? { empty: true } : { gone: true }) })
  if (preference === 'identifier')
    return replyWith(JSON.stringify({ uid }), {
      ...head,
      headers: { ...headers, 'content-type': 'application/json' },
    })
  const text = serialize(await show(), accepted)
  return replyWith(text, { ...head, headers: { ...headers, 'content-type': accepted } })
}
