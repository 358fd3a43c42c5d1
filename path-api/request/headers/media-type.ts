import type { Request } from 'express'
import type { Operation } from '../../operation/operation.ts'
import { RawBody } from '../../reply/body-media.ts'

const FHIR_JSON = 'application/fhir+json'

/** The values of the FHIR API's `_format` for JSON; a plus sign in a query means a space. */
const JSON_FORMATS = ['json', 'text/json', 'application/json', 'application/json+fhir', FHIR_JSON]

/** XML has two media types. The reply has the first; who accepts the other takes it. */
const XML = 'application/xml'
const TEXT_XML = 'text/xml'

/** Another version of FHIR than that of our resources. */
const OTHER_FHIR_VERSION = /^fhirversion="?(?!4\.0)/

/** The types that a reply may have. */
export const mediaTypesOfReply = ({ reply: [, body] }: Operation): readonly string[] =>
  body instanceof RawBody ? body.types : ['application/json']

/**
 * The type of the reply that the client prefers: by `_format` of the FHIR API, or by the header Accept.
 * @param offeredTypes by default all types that the reply may have
 * @returns undefined if the client accepts none of them
 */
export function negotiateMediaType(
  request: Request,
  operation: Operation,
  offeredTypes = mediaTypesOfReply(operation),
): string | undefined {
  const format = operation.api === 'fhir' ? formatIn(request.url) : undefined
  if (format !== undefined)
    return isFhirJson(format) ? offeredTypes.find((type) => type === FHIR_JSON) : undefined
  const types = offeredTypes.includes(XML) ? [...offeredTypes, TEXT_XML] : offeredTypes
  const accepted =
    request.accepts([...types]) || acceptedWithoutParameters(request.headers.accept ?? '', types)
  return accepted === TEXT_XML && !offeredTypes.includes(TEXT_XML) ? XML : accepted
}

const formatIn = (url: string): string | undefined =>
  new URLSearchParams(url.split('?', 2)[1]).get('_format') || undefined

/** The type and the parameters of a media range, in small letters. */
const partsOfRange = (range: string): string[] => range.split(';').map((part) => part.trim().toLowerCase())

/** Whether a value of `_format` is JSON of our version of FHIR. */
function isFhirJson(format: string): boolean {
  const [type = '', ...parameters] = partsOfRange(format)
  return (
    JSON_FORMATS.includes(type.replace(' ', '+')) && !parameters.some((one) => OTHER_FHIR_VERSION.test(one))
  )
}

/** Clients send parameters that change nothing, such as a charset. */
function acceptedWithoutParameters(accept: string, offeredTypes: readonly string[]): string | undefined {
  const ranges = accept.split(',').map(partsOfRange)
  const acceptedRanges = ranges.filter(
    ([, ...parameters]) =>
      !parameters.some((one) => /^q=0(\.0*)?$/.test(one) || OTHER_FHIR_VERSION.test(one)),
  )
  return offeredTypes.find((type) => acceptedRanges.some(([range]) => range === type))
}
