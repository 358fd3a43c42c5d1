import { type ClassName, isClassName } from '../../../records/kinds.ts'
import type { ExpectedVersions } from '../../../records/store/write-decider.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import { type ParseRequest, parseErrorCode, Refusal } from '../request/parse-request.ts'
import { isBatch, isRead, type RequestPart } from '../request/request-parts.ts'

/** Versions in headers, with the notation of the path family. */
export interface EntityTags {
  etagOf(version: number): string
  /** @throws ServiceError for a header that cannot be read */
  parseIfMatch(header: string | undefined, ids: readonly string[]): ExpectedVersions
}

/** The class of a request about health data; undefined for a batch. */
export const findNamedClass = (req: ParseRequest, [part]: readonly RequestPart[]): ClassName | undefined =>
  !isBatch(req) && isClassName(part?.className) ? part.className : undefined

/**
 * Reads the versions that a PUT or DELETE may overwrite. Requests in a batch have no headers of their own.
 * @throws Refusal for a condition that the request would ignore, or that cannot be read
 */
export function readIfMatch(
  req: ParseRequest,
  parts: readonly RequestPart[],
  { parseIfMatch }: EntityTags,
): ExpectedVersions {
  const header = req.get('if-match')
  if (header === undefined || parts.every(isRead)) return undefined
  if (!findNamedClass(req, parts) || !['PUT', 'DELETE'].includes(req.method))
    throw new Refusal(
      400,
      parseErrorCode.invalidJson,
      'If-Match is available for PUT and DELETE of one object. Leave it out of other requests and of batches.',
    )
  try {
    return parseIfMatch(header, [parts[0]?.objectId ?? ''])
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    const text = error.violations.map(({ message }) => message).join(' ') || error.message
    const { preconditionFailed, invalidJson } = parseErrorCode
    throw new Refusal(error.status, error.status === 412 ? preconditionFailed : invalidJson, text)
  }
}
