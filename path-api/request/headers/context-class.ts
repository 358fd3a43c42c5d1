import type { Request, Response } from 'express'
import { parsePosition } from '../../../records/live/change-log.ts'
import type { Caller } from '../../../records/store/documents/caller.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import type { Principal } from '../../operation/access.ts'
import type { Context, RequestFacts } from '../../operation/context.ts'
import { isConditional, type Operation } from '../../operation/operation.ts'
import type { Services } from '../../operation/services.ts'
import { acceptedLanguageOf } from '../../pages/page.ts'
import { etagOf, isCreateOnly, isUnchanged, parseIfMatch } from '../../reply/etag.ts'
import { malformedInput } from '../../reply/invalid-input.ts'
import { mediaTypeOf } from '../request-input.ts'
import { refreshCookieOf, type TokenPolicy } from '../token.ts'
import {
  parseBasicCredentials,
  parseCommitDetails,
  parseEhrIdHeader,
  parsePreference,
  parseTemplateId,
  parseVersionCondition,
} from './commit-details.ts'
import { parseFhirPreferences } from './fhir-headers.ts'
import { negotiateMediaType } from './media-type.ts'

interface RequestParts {
  request: Request
  response: Response
  requestId: string
  operation: Operation
  params: Record<string, string>
  tokens: TokenPolicy
  principal: Principal | undefined
  /** The principal in the form of the stores. */
  caller: Caller | undefined
}

/**
 * The facts of a request, except those of an attempt. Conditions of a write are parsed at once and refused if they are
 * malformed. The getters parse the other headers when a handler asks for them.
 */
class HttpRequestFacts implements Omit<RequestFacts<'optional'>, 'newId' | 'newUuid' | 'isRetry'> {
  private readonly parts: RequestParts
  private parsedCommitDetails: Context['commitDetails'] | undefined
  readonly requestId: string
  readonly principal: Principal | undefined
  readonly caller: Caller | undefined
  readonly ifMatch: Context['ifMatch']
  readonly ifMatchOf: Context['ifMatchOf']
  readonly createOnly: boolean
  readonly lastEventId: string | undefined
  current: Context['current']

  /** @throws PreconditionRequired, MalformedRequest */
  constructor(parts: RequestParts) {
    const { request, operation } = parts
    const condition = sentCondition(request, operation)
    if (operation.ifMatch === 'required' && condition === undefined)
      throw new ServiceError('PreconditionRequired')
    const isOpenEhr = operation.api === 'openehr'
    this.parts = parts
    this.requestId = parts.requestId
    this.principal = parts.principal
    this.caller = parts.caller
    const mayOnlyCreate = isCreation(request, operation)
    this.ifMatch = isOpenEhr ? undefined : parseIfMatch(condition, Object.values(parts.params))
    // No version fits a change that may only create.
    if (mayOnlyCreate && !operation.creates) this.ifMatch = []
    this.ifMatchOf = parseVersionCondition(isOpenEhr ? condition : undefined)
    this.createOnly = mayOnlyCreate && operation.creates === true
    this.lastEventId = operation.resumes ? parseLastEventId(request.headers['last-event-id']) : undefined
    this.current = undefined
  }

  get address(): string {
    return this.parts.request.ip ?? ''
  }

  get userAgent(): string {
    return this.parts.request.headers['user-agent']?.slice(0, 200) ?? ''
  }

  get language(): Context['language'] {
    return acceptedLanguageOf(this.parts.request)
  }

  get accepted(): string {
    return negotiateMediaType(this.parts.request, this.parts.operation) ?? ''
  }

  get accepts(): Context['accepts'] {
    return (type) => negotiateMediaType(this.parts.request, this.parts.operation, [type]) !== undefined
  }

  get sentAs(): string {
    return mediaTypeOf(this.parts.request)
  }

  get coding(): Context['coding'] {
    return (['br', 'gzip'] as const).find((one) => this.parts.request.acceptsEncodings(one))
  }

  get commitDetails(): Context['commitDetails'] {
    this.parsedCommitDetails ??= parseCommitDetails(this.parts.request)
    return this.parsedCommitDetails
  }

  get preference(): Context['preference'] {
    return parsePreference(this.parts.request.headers.prefer)
  }

  get templateId(): string | undefined {
    return parseTemplateId(this.parts.request)
  }

  get ehrIdHeader(): string | undefined {
    return parseEhrIdHeader(this.parts.request)
  }

  get fhirPreferences(): Context['fhirPreferences'] {
    return parseFhirPreferences(this.parts.request)
  }

  get basicCredentials(): Context['basicCredentials'] {
    return parseBasicCredentials(this.parts.request.headers.authorization)
  }

  get isKnown(): Context['isKnown'] {
    const knownEtags = ifNoneMatch(this.parts.request)
    return knownEtags === undefined ? undefined : (version) => isUnchanged(knownEtags, etagOf(version))
  }

  get isAbandoned(): Context['isAbandoned'] {
    return () => this.parts.response.closed
  }

  get refreshCookie(): Context['refreshCookie'] {
    return () => refreshCookieOf(this.parts.request, this.parts.tokens)
  }
}

/**
 * Creates the class of the contexts of handlers. The services stand on its prototype: copying them and parsing all headers
 * for each request took a fifth of the processor time of a read.
 */
export function createContextClass(
  services: Services,
): new (
  parts: RequestParts,
) => HttpRequestFacts & Services {
  class FactsAndServices extends HttpRequestFacts {}
  Object.assign(FactsAndServices.prototype, services)
  return FactsAndServices as unknown as new (
    parts: RequestParts,
  ) => FactsAndServices & Services
}

/** Whether a PUT may only create. @throws MalformedRequest */
const isCreation = (request: Request, { method, creates, api }: Operation): boolean =>
  method === 'put' && (creates === true || api === undefined) && isCreateOnly(ifNoneMatch(request))

const ifNoneMatch = ({ headers }: Request): string | undefined => headers['if-none-match']

/** If-Match of an operation that compares versions. The tags of FHIR are weak. */
function sentCondition({ headers }: Request, operation: Operation): string | undefined {
  const condition = isConditional(operation) ? headers['if-match'] : undefined
  return operation.api === 'fhir' ? condition?.replaceAll('W/"', '"') : condition
}

/** @throws MalformedRequest when the value cannot be an event id */
function parseLastEventId(header: unknown): string | undefined {
  if (header === undefined || header === '') return undefined
  if (typeof header === 'string' && parsePosition(header)) return header
  throw malformedInput('header', 'Last-Event-ID', 'event', 'must be the id of an event')
}
