import type { Request } from 'express'
import { parseVersionUid } from '../../../records/compositions/composition-record.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import type { CommitDetails, Preference } from '../../operation/context.ts'
import { malformedInput } from '../../reply/invalid-input.ts'

/** The uid of a version: `8849182c-…::hrs.local::3`. Programs send it with or without quotes, and as a weak tag. */
const VERSION_TAG = /^(?:W\/)?"?([\w-]{1,64}::[\w.-]{1,64}::\d{1,9})"?$/

/**
 * Parses If-Match of the openEHR REST API.
 * @returns a function that returns the versions of an object that may be overwritten; undefined: no condition
 * @throws MalformedRequest when it is not a list of version uids; PreconditionRequired for `*`
 */
export function parseVersionCondition(header: string | undefined): (id: string) => number[] | undefined {
  if (header === undefined) return () => undefined
  if (header.trim() === '*') throw new ServiceError('PreconditionRequired')
  const tags = header.split(',').map((tag) => {
    const [, uid] = VERSION_TAG.exec(tag.trim()) ?? []
    if (uid === undefined)
      throw malformedInput('header', 'If-Match', 'versionUid', 'must be the uid of a version')
    return parseVersionUid(uid.toLowerCase())
  })
  return (id) => tags.flatMap((tag) => (tag.id === id.toLowerCase() ? (tag.version ?? []) : []))
}

/** The first preference of `Prefer` (RFC 7240) about the body; others count as the default. */
export const parsePreference = (header: string | string[] | undefined): Preference =>
  (/(?:^|[,;\s])return="?(minimal|identifier|representation)/.exec(String(header))?.[1] as Preference) ??
  'minimal'

/** The details in the attributes of each header of committal metadata; those without a detail are ignored. */
const AUDIT_ATTRIBUTES: Readonly<Record<string, keyof CommitDetails | undefined>> = {
  'change_type.code_string': 'changeType',
  'description.value': 'description',
  'committer.name': 'committer',
  'committer.external_ref.id': 'committerId',
  'committer.external_ref.namespace': 'committerNamespace',
  'committer.external_ref.type': 'committerType',
  // The service sets these.
  system_id: undefined,
  'time_committed.value': undefined,
}
const COMMIT_HEADERS: ReadonlyMap<string, typeof AUDIT_ATTRIBUTES> = new Map([
  ['openehr-version', { 'lifecycle_state.code_string': 'lifecycle' }],
  ['openehr-audit-details', AUDIT_ATTRIBUTES],
  // Releases before 1.1 wrote attributes into the names.
  ['openehr-audit_details', AUDIT_ATTRIBUTES],
])
const MAX_COMMIT_TEXT_LENGTH = 1000

/** An attribute with its text in quotes, which may have escapes, and what separates it from the next one. */
const ATTRIBUTE = /[ \t]*([\w.]+)[ \t]*=[ \t]*"((?:[^"\\]|\\.)*)"[ \t]*(?:,|$)/y

/** The attributes of a header; undefined if it has another form. */
function parseAttributes(header: string): [name: string, text: string][] | undefined {
  const attributes: [string, string][] = []
  for (let at = 0; at < header.length; at = ATTRIBUTE.lastIndex) {
    ATTRIBUTE.lastIndex = at
    const [, name, text] = ATTRIBUTE.exec(header) ?? []
    if (name === undefined || text === undefined) return undefined
    attributes.push([name, text.replace(/\\(.)/g, '$1')])
  }
  return attributes
}

/**
 * Reads the committal metadata: `openehr-audit-details: description.value="…",committer.name="…"`, or
 * `openEHR-AUDIT_DETAILS.description: value="…"`.
 * @throws MalformedRequest for what cannot be read, for unknown or repeated attributes, and for texts that are too long
 */
export function parseCommitDetails({ rawHeaders }: Pick<Request, 'rawHeaders'>): CommitDetails {
  const details: CommitDetails = {}
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]?.toLowerCase() ?? ''
    const [header = '', ...prefix] = name.split('.')
    const detailOf = COMMIT_HEADERS.get(header)
    if (!detailOf) continue
    const attributes = parseAttributes(rawHeaders[i + 1] ?? '')
    if (!attributes) throw malformedInput('header', name, 'format', 'must be attributes with texts in quotes')
    for (const [attribute, text] of attributes) {
      const path = [...prefix, attribute].join('.')
      const fault = (code: string, message: string) =>
        malformedInput('header', `${header}.${path}`, code, message)
      if (!Object.hasOwn(detailOf, path)) throw fault('not-supported', 'is not an attribute of this header')
      const detail = detailOf[path]
      if (detail === undefined || text === '') continue
      if (details[detail] !== undefined) throw fault('duplicate', 'must be given once')
      if (text.length > MAX_COMMIT_TEXT_LENGTH) throw fault('maxLength', 'must be shorter')
      details[detail] = text
    }
  }
  return details
}

/** The template of a composition in a simplified format, which does not name it; releases before 1.1 wrote `template_id`. */
export function parseTemplateId({ headers }: Pick<Request, 'headers'>): string | undefined {
  const header = headers['openehr-template-id'] ?? headers['openehr-template_id']
  return typeof header === 'string' && header !== '' ? header : undefined
}

/** The only EHR that a query searches. @throws MalformedRequest */
export function parseEhrIdHeader({ headers }: Pick<Request, 'headers'>): string | undefined {
  const header = headers['openehr-ehr-id']
  if (typeof header !== 'string' || header === '') return undefined
  if (/^[\w-]{1,64}$/.test(header)) return header
  throw malformedInput('header', 'openEHR-EHR-id', 'pattern', 'must be an EHR id')
}

/** The name and secret of `Authorization: Basic`; both are form-encoded in it (RFC 6749, 2.3.1). */
export function parseBasicCredentials(
  header: string | undefined,
): { name: string; secret: string } | undefined {
  const credentials = /^Basic +([A-Za-z0-9+/=]+) *$/i.exec(header ?? '')?.[1]
  if (credentials === undefined) return undefined
  const [name = '', ...rest] = Buffer.from(credentials, 'base64').toString().replaceAll('+', ' ').split(':')
  try {
    return { name: decodeURIComponent(name), secret: decodeURIComponent(rest.join(':')) }
  } catch {
    return undefined
  }
}
