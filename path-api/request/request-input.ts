import type { TObject, TSchema } from '@sinclair/typebox'
import express, { type Request, type Response } from 'express'
import { isInputErrorName, ServiceError } from '../../schemas/errors.ts'
import { RESERVED_DOCUMENT_KEYS } from '../../schemas/json/walk-json.ts'
import { createValidator, type Validator } from '../../schemas/validation/validators.ts'
import type { Violation } from '../../schemas/validation/violations.ts'
import type { BodyLimits, Operation } from '../operation/operation.ts'
import { FormBody, RawBody, type RawContent } from '../reply/body-media.ts'
import { InputError, InvalidInput, locateViolation, malformedInput } from '../reply/invalid-input.ts'
import { parseForm, parseJson, parseParameters } from './body-parsing.ts'
import { separateReadOnly } from './read-only-properties.ts'

/** Validated input of an operation. */
export interface RequestInput {
  params: Record<string, string>
  query: Record<string, unknown>
  body: unknown
  /** Violations of parameters that were left out, because the operation handles them. */
  violations?: readonly Violation[]
  /** Read-only properties of the body, which must be those of the resource. */
  readOnly?: Record<string, unknown>
  /** Raw body, for the fingerprint of an Idempotency-Key. */
  bytes: Buffer
}

interface InputReader {
  /** Waits for the body. @throws ContentTooLarge, UnsupportedMediaType, MalformedRequest */
  receive(request: Request, response: Response): Promise<Buffer>
  /** @throws MalformedRequest, InvalidInput */
  read(request: Request, bytes: Buffer, params: Record<string, string>): RequestInput
}

/**
 * Compiles the schemas of an operation into a function that reads and validates the input, with all
 * violations at once.
 * @param readOnly names of the properties that the body may repeat
 */
export function createInputReader(operation: Operation, readOnly?: ReadonlySet<string>): InputReader {
  const { params, furtherViolations, body, mapParams } = operation
  const checkParams = createValidator(params)
  const checkQuery = createQueryCheck(operation)
  const checkBody = createBodyCheck(body, furtherViolations)
  const readBytes = body === undefined ? undefined : createBodyReader(operation.limits.bytes)
  return {
    async receive(request, response) {
      if (body !== undefined) requireMediaType(request, body, operation.alsoAs)
      return (await readBytes?.(request, response)) ?? Buffer.alloc(0)
    },
    read(request, bytes, values) {
      const input = {
        params: values,
        query: readQuery(request.url, operation),
        ...separateReadOnly(decodeBody(request, operation, bytes), readOnly),
        bytes,
      }
      const violations = [
        ...checkParams(input.params).map(locateViolation('path')),
        ...checkQuery(input.query).map(locateViolation('query')),
        ...(checkBody?.(input.body) ?? []).map(locateViolation('body')),
      ]
      if (violations.length > 0 && operation.handlesViolations) return withoutInvalid(input, violations)
      if (violations.length > 0) throw new InvalidInput(violations)
      return mapParams ? { ...input, params: mapParams(input.params) } : input
    },
  }
}

function withoutInvalid(input: RequestInput, violations: readonly Violation[]): RequestInput {
  const paths = new Set(violations.map(({ path }) => path))
  const valid = (place: 'query' | 'body', values: object) =>
    Object.fromEntries(Object.entries(values).filter(([name]) => !paths.has(`${place}.${name}`)))
  return {
    ...input,
    query: valid('query', input.query),
    body: valid('body', input.body ?? {}),
    violations,
  }
}

/**
 * Locates the violations of a rule in the request. Rules know records, not requests: `carePlanId` is a
 * property of the body unless the path contains it.
 */
export function locateInInput(failure: unknown, { params, body }: RequestInput): unknown {
  if (!(failure instanceof ServiceError) || failure instanceof InputError) return failure
  const { error, detail } = failure
  // The texts of OAuth are whole sentences about no place.
  if (!isInputErrorName(error) || error === 'GrantRefused') return failure
  const rest = body === undefined ? 'query' : 'body'
  const bodyProperties = typeof body === 'object' && body !== null ? body : {}
  const violations = failure.violations.map((violation) => {
    const isNamed = (name: string) => name.toLowerCase() === violation.path.toLowerCase()
    const path = Object.hasOwn(bodyProperties, violation.path) ? undefined : Object.keys(params).find(isNamed)
    return path === undefined
      ? locateViolation(rest)(violation)
      : locateViolation('path')({ ...violation, path })
  })
  return new InputError(error, violations, { cause: failure, ...(detail && { detail }) })
}

/** Validates the query parameters. */
function createQueryCheck({ query: schema, queryRules = () => [] }: Operation): Validator {
  const check = createValidator(schema)
  const isList = (name: string): boolean => schema.properties[name]?.type === 'array'
  return (value) => {
    const query = value as Record<string, unknown>
    const bySchema = check(query).map((one) => {
      const [name = ''] = one.path.split('.', 1)
      return isList(name) ? { ...one, path: name } : one
    })
    const faulty = new Set(bySchema.map(({ path }) => path))
    const byRule = [...findReversedRange(query), ...queryRules(query)]
    return [...bySchema, ...byRule.filter(({ path }) => !faulty.has(path))]
  }
}

/** A reversed range is an error: the client means something else. */
function findReversedRange({ from, to }: Record<string, unknown>): Violation[] {
  if (typeof from !== 'string' || typeof to !== 'string' || !(Date.parse(to) < Date.parse(from))) return []
  return [{ path: 'to', code: 'order', message: 'must not be earlier than from' }]
}

function createBodyCheck(
  body: Operation['body'],
  furtherViolations: Operation['furtherViolations'],
): Validator | undefined {
  if (body === undefined || body instanceof RawBody) return undefined
  const check = createValidator(body instanceof FormBody ? body.schema : body)
  if (furtherViolations === undefined) return check
  return (value) => {
    const violations = check(value)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return violations.length > 0 && isObject
      ? [...violations, ...furtherViolations(value, violations)]
      : violations
  }
}

/** Reads and decompresses the body. The limit applies to the decompressed size, which stops zip bombs. */
function createBodyReader(
  limit: number,
): (request: Request, response: Response) => Promise<Buffer | undefined> {
  const read = express.raw({ type: () => true, limit })
  return (request, response) =>
    new Promise((resolve, reject) => {
      read(request, response, (error?: unknown) => {
        if (error === undefined) resolve(Buffer.isBuffer(request.body) ? request.body : undefined)
        else reject(toBodyError(error))
      })
    })
}

/** Treats every failure while reading the body as a client error. */
function toBodyError(error: unknown): ServiceError {
  const status = error instanceof Error && 'status' in error ? error.status : undefined
  if (status === 413) return new ServiceError('ContentTooLarge')
  if (status === 415) return new ServiceError('UnsupportedMediaType')
  return malformedInput(
    'body',
    '',
    'encoding',
    'must be complete, in the encoding that Content-Encoding names',
  )
}

const hasBody = ({ headers }: Request): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

/** The media type of the body, in lower case, without parameters. */
export const mediaTypeOf = ({ headers }: Request): string =>
  headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() ?? ''

/** @throws UnsupportedMediaType; an empty body needs no media type */
function requireMediaType(
  request: Request,
  body: NonNullable<Operation['body']>,
  alsoAs: readonly string[] = [],
): void {
  if (!hasBody(request)) return
  const type = mediaTypeOf(request)
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(request.headers['content-type'] ?? '')?.[1]
  const text = charset === undefined || /^(utf-8|us-ascii)$/i.test(charset)
  if (body instanceof RawBody ? body.types.includes(type) : text && expectedMediaType(body).test(type)) return
  throw new ServiceError('UnsupportedMediaType', {
    detail: `Send ${[...mediaTypesOf(body), ...alsoAs].join(' or ')}.`,
  })
}

const expectedMediaType = (body: FormBody<TSchema> | TSchema): RegExp =>
  body instanceof FormBody ? /^application\/x-www-form-urlencoded$/ : /^application\/(json|[\w.-]+\+json)$/

export function mediaTypesOf(body: NonNullable<Operation['body']>): readonly string[] {
  if (body instanceof RawBody) return body.types
  return [body instanceof FormBody ? 'application/x-www-form-urlencoded' : 'application/json']
}

function decodeBody(request: Request, operation: Operation, bytes: Buffer): unknown {
  const { body, limits } = operation
  if (body === undefined) return undefined
  if (body instanceof RawBody) return decodeRawBody(mediaTypeOf(request), body, bytes, limits)
  if (body instanceof FormBody)
    return coerceQuery(parseForm(bytes, limits), body.schema as TObject, operation)
  if (bytes.length > 0) return parseJson(bytes, limits)
  // A missing body counts as an empty object, except where it would erase an open object.
  return body.additionalProperties === true ? undefined : {}
}

/** Also the type of FHIR before R4: `application/json+fhir`. */
const JSON_TYPE = /[/+]json(?:\+[\w.-]+)?$/

function decodeRawBody(type: string, body: RawBody, bytes: Buffer, limits: BodyLimits): RawContent {
  if (body.json === undefined || bytes.length === 0 || !JSON_TYPE.test(type)) return { type, bytes }
  return { type, bytes, json: parseJson(bytes, limits, RESERVED_DOCUMENT_KEYS) }
}

function readQuery(url: string, operation: Operation): Record<string, unknown> {
  const at = url.indexOf('?')
  return at < 0 ? {} : coerceQuery(parseParameters(url.slice(at + 1), 'query'), operation.query, operation)
}

/**
 * Converts text values to the types of their schemas. A value that cannot be converted stays text and fails
 * validation.
 */
function coerceQuery(
  texts: URLSearchParams,
  { properties }: TObject,
  { ignoresEmpty }: Operation,
): Record<string, unknown> {
  const values: Record<string, unknown> = Object.create(null)
  // `getAll` would scan all parameters for each name.
  const byName = new Map<string, string[]>()
  for (const [name, text] of texts) {
    if (text === '' && ignoresEmpty) continue
    const sameNamed = byName.get(name)
    if (sameNamed) sameNamed.push(text)
    else byName.set(name, [text])
  }
  for (const [name, sameNamed] of byName) {
    if (name === 'authToken') continue // read by token.ts
    const schema = Object.hasOwn(properties, name) ? properties[name] : undefined
    // Accepts `a,b` and repeated parameters.
    if (schema?.type === 'array')
      values[name] = sameNamed
        .flatMap((text) => text.split(','))
        .filter(Boolean)
        .map((text) => convertText(text, schema.items))
    else values[name] = sameNamed.length > 1 ? sameNamed : convertText(sameNamed[0] ?? '', schema)
  }
  return values
}

function convertText(text: string, schema: TSchema | undefined): unknown {
  const numeric = schema?.type === 'integer' || schema?.type === 'number'
  if (numeric && /^-?\d+(\.\d+)?$/.test(text)) return Number(text)
  // A date without a time means 00:00 UTC.
  if (schema?.format === 'date-time' && /^\d{4}-\d\d-\d\d$/.test(text)) return `${text}T00:00:00Z`
  if (schema?.type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}
