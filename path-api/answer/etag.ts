import { createHash } from 'node:crypto'
import type { Expected } from '../../records/store/decisions.ts'
import { malformed } from './invalid-input.ts'

const entityTags =
  /^(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"(?:[ \t]*,[ \t]*(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*")*$/
/**
 * Behind a point may stand what else the representation shows, see taggedWith; before the version what it is a version
 * of, and where: `8849…::hrs.local::3`.
 */
const strongVersion = /(?<!W\/)"(?:([\w-]{1,64})::[\w.-]{1,64}::)?(\d{1,15})(?:\.[\w-]{1,40})?"/g

/** The ETag of a version: the version in quotes. */
export const etagOf = (version: number | string): string => `"${version}"`

/**
 * The ETag of a resource that is shown with others in it. A change of those makes it another one, and If-Match still
 * compares the version of the resource itself.
 */
export function taggedWith(version: number, others: readonly { id: string; version: number }[]): string {
  const hash = createHash('sha256')
  for (const { id, version } of others) hash.update(`${id} ${version}\n`)
  return `"${version}.${hash.digest('base64url').slice(0, 16)}"`
}

/**
 * Reads If-Match with the strong comparison that RFC 9110 demands: weak tags and tags that are not ours match
 * nothing, so that a condition made of them alone fails (412) and does not vanish.
 *
 * @param ids what the path names: a version of anything else matches nothing
 * @throws MalformedRequest when it is no list of entity tags
 */
export function parseIfMatch(header: string | undefined, ids: readonly string[] = []): Expected {
  if (header === undefined) return undefined
  const value = header.trim()
  if (value === '*') return 'any'
  if (!entityTags.test(value))
    throw malformed('header', 'If-Match', 'entityTags', 'must be * or a list of entity tags')
  return [...value.matchAll(strongVersion)].flatMap(([, id, version]) =>
    id === undefined || ids.some((one) => one.split('::')[0] === id) ? [Number(version)] : [],
  )
}

/**
 * Whether If-None-Match of a PUT forbids to replace what is there.
 *
 * @throws MalformedRequest when it names versions: what is replaced is chosen by If-Match
 */
export function wantsNew(header: string | undefined): boolean {
  if (header === undefined) return false
  if (header.trim() === '*') return true
  throw malformed('header', 'If-None-Match', 'const', 'must be * for a change')
}

/** Whether If-None-Match names this ETag (weak comparison), so that 304 says it all. */
export function isUnchanged(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false
  return header.split(',').some((tag) => {
    const trimmed = tag.trim()
    return trimmed === '*' || trimmed.replace(/^W\//, '') === etag
  })
}
