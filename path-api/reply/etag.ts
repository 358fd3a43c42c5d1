import { createHash } from 'node:crypto'
import type { ExpectedVersions } from '../../records/store/write-decider.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { isEntityTagList, isTagListed, versionsInTags } from '../../schemas/validation/entity-tags.ts'
import { malformedInput } from './invalid-input.ts'

export const etagOf = (version: number | string): string => `"${version}"`

/**
 * ETag of a resource that includes other records. A change of those changes the tag; If-Match still compares
 * only the version of the resource.
 */
export function etagWithOthers(
  version: number,
  contents: readonly { id: string; version: number }[],
): string {
  const hash = createHash('sha256')
  for (const { id, version } of contents) hash.update(`${id} ${version}\n`)
  return `"${version}.${hash.digest('base64url').slice(0, 16)}"`
}

/**
 * Parses If-Match with strong comparison (RFC 9110). Weak and foreign tags match nothing, so a condition made
 * of them alone fails with 412.
 *
 * @param ids ids in the path; versions of other objects match nothing
 * @throws MalformedRequest when the header is not a list of entity tags; PreconditionRequired for `*`, which
 * would overwrite a version that the client has not seen
 */
export function parseIfMatch(header: string | undefined, ids: readonly string[] = []): ExpectedVersions {
  if (header === undefined) return undefined
  const value = header.trim()
  if (value === '*')
    throw new ServiceError('PreconditionRequired', {
      detail: 'If-Match: * names no version. Send the ETag of the version that you have read.',
    })
  if (!isEntityTagList(value))
    throw malformedInput('header', 'If-Match', 'entityTags', 'must be a list of entity tags')
  return versionsInTags(value, ids)
}

/**
 * Whether If-None-Match forbids a PUT to replace an existing resource.
 *
 * @throws MalformedRequest when it names versions; use If-Match to choose the version to replace
 */
export function isCreateOnly(header: string | undefined): boolean {
  if (header === undefined) return false
  if (header.trim() === '*') return true
  throw malformedInput('header', 'If-None-Match', 'const', 'must be * in a request that changes something')
}

/** Whether If-None-Match names this ETag (weak comparison), so that a 304 suffices. */
export const isUnchanged = (header: string | undefined, etag: string): boolean =>
  header !== undefined && isTagListed(header, etag)
