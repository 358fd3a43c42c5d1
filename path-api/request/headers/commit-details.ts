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

/** Headers of committal metadata by attribute; releases before 1.1 wrote attributes into the names. */
const COMMIT_HEADERS = ['openehr-version', 'openehr-audit-details', 'openehr-audit_details']
const MAX_COMMIT_TEXT_LENGTH = 1000

/**
 * Reads the committal metadata: `openehr-audit-details: description.value="…",committer.name="…"`, or
 * `openEHR-AUDIT_DETAILS.description: value="…"`.
 * @throws MalformedRequest for texts that are too long
 */
export function parseCommitDetails({ rawHeaders }: Pick<Request, 'rawHeaders'>): CommitDetails {
  const found = new Map<string, string>()
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]?.toLowerCase() ?? ''
    const [header = '', ...prefix] = name.split('.')
    if (!COMMIT_HEADERS.includes(header)) continue
    for (const [, attribute, text] of (rawHeaders[i + 1] ?? '').matchAll(
      /(?<![\w.])([\w.]+)\s*=\s*"([^"]*)"/g,
    ))
      found.set([...prefix, attribute].join('.'), text ?? '')
  }
  const details = {
    changeType: found.get('change_type.code_string'),
    lifecycle: found.get('lifecycle_state.code_string'),
    description: found.get('description.value'),
    committer: found.get('committer.name'),
    committerId: found.get('committer.external_ref.id'),
    committerNamespace: found.get('committer.external_ref.namespace'),
    committerType: found.get('committer.external_ref.type'),
  }
  for (const text of Object.values(details))
    if ((text?.length ?? 0) > MAX_COMMIT_TEXT_LENGTH)
      throw malformedInput('header', 'openehr-audit-details', 'maxLength', 'must be shorter')
  return Object.fromEntries(Object.entries(details).filter(([, text]) => text)) as CommitDetails
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
