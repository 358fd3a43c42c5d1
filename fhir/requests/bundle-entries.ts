import { parseFhirJson } from '../../records/fhir/decimal.ts'
import { replaceTexts } from '../../records/fhir/element-paths.ts'
import type { FhirResource } from '../../records/fhir/mapping.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { findRepeatedNames, NameCounter } from '../../schemas/json/repeated-names.ts'
import {
  hasReservedKey,
  REQUEST_JSON_LIMITS,
  RESERVED_DOCUMENT_KEYS,
  walkJson,
} from '../../schemas/json/walk-json.ts'
import { isEntityTagList } from '../../schemas/validation/entity-tags.ts'
import type { Violation } from '../../schemas/validation/violations.ts'
import { parameterError } from '../outcome/issue.ts'
import { type PatchOperation, patchViolations } from './json-patch.ts'

export type BundleMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** A request in a batch or a transaction. */
export interface BundleEntry {
  /** The position in the Bundle. */
  position: number
  method: BundleMethod
  type: string
  /** The id in the URL; undefined for a search, and for a new resource. */
  id: string | undefined
  versionId: string | undefined
  query: Readonly<Record<string, string[]>>
  resource: FhirResource | undefined
  patch: PatchOperation[] | undefined
  fullUrl: string | undefined
  /** Strong tags of the versions that may be overwritten; `*` names none. */
  ifMatch: string | undefined
  ifNoneExist: Readonly<Record<string, string[]>> | undefined
  /** Tags of the versions that the client has. */
  ifNoneMatch: string | undefined
  /** When the client has read the resource. */
  ifModifiedSince: string | undefined
}

const MAX_ENTRIES = 500

/** As for the URLs of requests. */
const MAX_URL_LENGTH = 16_384

const METHODS: readonly string[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
const URL_PATTERN =
  /^([A-Za-z]+)(?:\/([A-Za-z0-9.-]{1,64})(?:\/_history\/([A-Za-z0-9.-]{1,64}))?)?(?:\?(.*))?$/

/** The parameters of a query, each with all its values. Clients also send the path before it: `Observation?code=…`. */
export function parseSearchQuery(text: string): Record<string, string[]> {
  const parameters: Record<string, string[]> = Object.create(null)
  if (text === '') return parameters
  for (const [name, value] of new URLSearchParams(text.replace(/^[^?=]*\?/, ''))) {
    parameters[name] ??= []
    parameters[name].push(value)
  }
  return parameters
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

/**
 * Reads the entries of a batch or transaction.
 * @returns faulty entries of a batch as their violations, since each entry stands alone
 * @throws InvalidInput; ContentTooLarge
 */
export function readEntries({
  type,
  entry = [],
}: FhirResource):
  | { isTransaction: true; entries: BundleEntry[] }
  | { isTransaction: false; entries: (BundleEntry | Violation)[] } {
  if (type !== 'batch' && type !== 'transaction')
    throw parameterError('Bundle.type', 'enum', 'must be batch or transaction')
  if (!Array.isArray(entry)) throw parameterError('Bundle.entry', 'type', 'must be a list')
  requireFew(entry.length, 'entries')
  const read = entry.map(readEntry)
  if (type === 'batch') return { isTransaction: false, entries: read }
  const violations = read.flatMap((one) => ('message' in one ? one : []))
  const entries = read as BundleEntry[]
  violations.push(...(violations.length > 0 ? [] : repeatedUrls(entries)))
  if (violations.length > 0) throw violationsError(violations)
  return { isTransaction: true, entries }
}

/** References to a URL that two entries have would be ambiguous. */
const repeatedUrls = (entries: readonly BundleEntry[]): Violation[] =>
  entries.flatMap(({ fullUrl, position }) =>
    fullUrl !== undefined && entries.some((one) => one.position < position && one.fullUrl === fullUrl)
      ? [
          {
            path: `Bundle.entry[${position}].fullUrl`,
            code: 'duplicate',
            message: 'must be unique in the Bundle',
          },
        ]
      : [],
  )

export const violationsError = (violations: Violation[]) => new ServiceError('InvalidInput', { violations })

function readEntry(entry: unknown, position: number): BundleEntry | Violation {
  const { request, resource, fullUrl } = (entry ?? {}) as Record<string, Record<string, unknown>>
  const path = `Bundle.entry[${position}].request`
  const method = textOf(request?.method)
  const url = URL_PATTERN.exec(textOf(request?.url)?.replace(/^\//, '') ?? '')
  if (method === undefined || !METHODS.includes(method))
    return { path: `${path}.method`, code: 'enum', message: `must be one of ${METHODS.join(', ')}` }
  if (!url) return { path: `${path}.url`, code: 'format', message: 'must be the URL of a resource or type' }
  const conditions = readConditions(request)
  const condition = conditions.ifNoneExist
  const fault = longUrl(path, { url: url[0], ifNoneExist: condition ?? '' }) ?? faultyCondition(path, request)
  if (fault) return fault
  const [, type = '', id, versionId, query = ''] = url
  const isWrite = method === 'POST' || method === 'PUT'
  if (isWrite && resource?.resourceType !== type)
    return {
      path: `Bundle.entry[${position}].resource`,
      code: 'type',
      message: `must be a resource of the type ${type}`,
    }
  const patch = method === 'PATCH' ? readPatch(resource) : undefined
  if (method === 'PATCH' && patch === undefined)
    return {
      path: `Bundle.entry[${position}].resource`,
      code: 'type',
      message: 'must be a Binary with a JSON Patch',
    }
  return {
    position,
    method: method as BundleMethod,
    type,
    id,
    versionId,
    query: parseSearchQuery(query),
    resource: isWrite ? (resource as FhirResource) : undefined,
    patch,
    fullUrl: textOf(fullUrl),
    ...conditions,
    ifNoneExist: condition === undefined ? undefined : parseSearchQuery(condition),
  }
}

/** The conditions of a request. The tags of FHIR are weak; strong ones are compared. */
const readConditions = (request: Record<string, unknown> | undefined) => ({
  ifMatch: textOf(request?.ifMatch)?.trim().replaceAll('W/"', '"'),
  ifNoneExist: textOf(request?.ifNoneExist),
  ifNoneMatch: textOf(request?.ifNoneMatch),
  ifModifiedSince: textOf(request?.ifModifiedSince),
})

/** A condition that cannot be read, and would be ignored. */
function faultyCondition(path: string, request: Record<string, unknown> = {}): Violation | undefined {
  const conditions = readConditions(request)
  const names = Object.keys(conditions) as (keyof typeof conditions)[]
  const name = names.find((one) => request[one] !== undefined && conditions[one] === undefined)
  if (name !== undefined) return { path: `${path}.${name}`, code: 'type', message: 'must be a text' }
  const { ifMatch = '*', ifModifiedSince } = conditions
  if (ifMatch !== '*' && !isEntityTagList(ifMatch))
    return { path: `${path}.ifMatch`, code: 'entityTags', message: 'must be a list of entity tags' }
  if (ifModifiedSince !== undefined && Number.isNaN(Date.parse(ifModifiedSince)))
    return { path: `${path}.ifModifiedSince`, code: 'date-time', message: 'must be a time' }
  return undefined
}

function longUrl(path: string, urls: Record<string, string>): Violation | undefined {
  const long = Object.keys(urls).find((name) => (urls[name]?.length ?? 0) > MAX_URL_LENGTH)
  const message = `must have at most ${MAX_URL_LENGTH} characters`
  return long === undefined ? undefined : { path: `${path}.${long}`, code: 'maxLength', message }
}

/** Limits the searches and writes that a Bundle causes. @throws ContentTooLarge */
export function requireFew(count: number, plural: string): void {
  if (count <= MAX_ENTRIES) return
  const message = `must have at most ${MAX_ENTRIES} ${plural}`
  throw new ServiceError('ContentTooLarge', {
    violations: [{ path: 'Bundle.entry', code: 'too-costly', message }],
  })
}

/** As for the body of a request. */
function isWithinLimits(patch: unknown, text: string): boolean {
  const names = new NameCounter()
  let hasReserved = false
  const exceededLimit = walkJson(patch, REQUEST_JSON_LIMITS, (one) => {
    names.add(one)
    hasReserved ||= hasReservedKey(one, RESERVED_DOCUMENT_KEYS)
  })
  return exceededLimit === undefined && !hasReserved && findRepeatedNames(text, names.count).length === 0
}

/** A JSON Patch in a Bundle is a Binary. @returns undefined for anything else */
function readPatch(resource: Readonly<Record<string, unknown>> | undefined): PatchOperation[] | undefined {
  try {
    const text = Buffer.from(String(resource?.data ?? ''), 'base64').toString()
    const patch = parseFhirJson(text)
    return isWithinLimits(patch, text) && patchViolations(patch).length === 0
      ? (patch as PatchOperation[])
      : undefined
  } catch {
    return undefined
  }
}

/** Replaces references to other entries by those to their resources. */
export const replaceReferences = <T>(resource: T, references: ReadonlyMap<string, string>): T =>
  references.size === 0
    ? resource
    : replaceTexts(resource, (text, name) => (name === 'reference' ? (references.get(text) ?? text) : text))

/** The conditional references in a resource: `Patient?identifier=…`. */
export function conditionalReferences(resource: unknown): string[] {
  const references: string[] = []
  replaceTexts(resource, (text, name) => {
    if (name === 'reference' && /^[A-Za-z]+\?/.test(text)) references.push(text)
    return text
  })
  return references
}
