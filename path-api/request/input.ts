import type { TObject, TSchema } from '@sinclair/typebox'
import express, { type Request, type Response } from 'express'
import { isInputFault, ServiceError } from '../../schemas/errors.ts'
import { type Check, checkOf } from '../../schemas/registry.ts'
import type { Violation } from '../../schemas/violation.ts'
import { InvalidInput, malformed, Placed, placedIn } from '../answer/invalid-input.ts'
import { Form, Raw, type RawContent } from '../answer/media.ts'
import type { BodyLimits, Operation } from '../operation/operation.ts'
import { parseForm, parseJson } from './json.ts'

/** An operation's input, read and checked. */
export interface Input {
  params: Record<string, string>
  query: Record<string, unknown>
  body: unknown
  /** The body as it came, for the fingerprint of an Idempotency-Key. */
  bytes: Buffer
}

type InputReader = (request: Request, response: Response, params: Record<string, string>) => Promise<Input>

/** Compiles an operation's schemas into the function that reads and checks its input: all violations at once. */
export function inputReader(operation: Operation): InputReader {
  const { params, query, body, limits, brokenBeside } = operation
  const checkParams = checkOf(params)
  const checkQuery = queryCheck(operation)
  const checkBody = bodyCheck(body, brokenBeside)
  const readBytes = body === undefined ? undefined : bytesReader(limits.bytes)
  return async (request, response, values) => {
    if (body !== undefined) requireMediaType(request, body)
    const bytes = (await readBytes?.(request, response)) ?? Buffer.alloc(0)
    const input = {
      params: values,
      query: readQuery(request.url, query),
      body: decode(request, body, bytes, limits),
      bytes,
    }
    const found = [
      ...checkParams(input.params).map(placedIn('path')),
      ...checkQuery(input.query).map(placedIn('query')),
      ...(checkBody?.(input.body) ?? []).map(placedIn('body')),
    ]
    if (found.length > 0) throw new InvalidInput(found)
    return input
  }
}

/**
 * A broken rule in terms of the request. The rules know records, no paths and bodies: `carePlanId` is a property of
 * the body, unless it stands in the path.
 */
export function inInput(thrown: unknown, { params, body }: Input): unknown {
  if (!(thrown instanceof ServiceError) || thrown instanceof Placed) return thrown
  const { error, detail } = thrown
  if (!isInputFault(error)) return thrown
  const rest = body === undefined ? 'query' : 'body'
  const sent = typeof body === 'object' && body !== null ? body : {}
  const violations = thrown.violations.map((violation) => {
    const isNamed = (name: string) => name.toLowerCase() === violation.path.toLowerCase()
    const path = Object.hasOwn(sent, violation.path) ? undefined : Object.keys(params).find(isNamed)
    return path === undefined ? placedIn(rest)(violation) : placedIn('path')({ ...violation, path })
  })
  return new Placed(error, violations, { cause: thrown, ...(detail && { detail }) })
}

/** What is wrong with a query, by its parameters. */
function queryCheck({ query: schema, queryRules = () => [] }: Operation): Check {
  const check = checkOf(schema)
  const isList = (name: string): boolean => schema.properties[name]?.type === 'array'
  return (value) => {
    const query = value as Record<string, unknown>
    const bySchema = check(query).map((one) => {
      const [name = ''] = one.path.split('.', 1)
      return isList(name) ? { ...one, path: name } : one
    })
    const faulty = new Set(bySchema.map(({ path }) => path))
    const byRule = [...backward(query), ...queryRules(query)]
    return [...bySchema, ...byRule.filter(({ path }) => !faulty.has(path))]
  }
}

/** A time that ends before it begins holds nothing; whoever asks for it meant something else. */
function backward({ from, to }: Record<string, unknown>): Violation[] {
  if (typeof from !== 'string' || typeof to !== 'string' || !(Date.parse(to) < Date.parse(from))) return []
  return [{ path: 'to', code: 'order', message: 'must not be earlier than from' }]
}

function bodyCheck(body: Operation['body'], brokenBeside: Operation['brokenBeside']): Check | undefined {
  if (body === undefined || body instanceof Raw) return undefined
  const check = checkOf(body instanceof Form ? body.schema : body)
  if (brokenBeside === undefined) return check
  return (value) => {
    const found = check(value)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return found.length > 0 && isObject ? [...found, ...brokenBeside(value, found)] : found
  }
}

/** Reads the whole body, inflated; the limit holds for what comes out, so that a zip bomb stops at it. */
function bytesReader(limit: number): (request: Request, response: Response) => Promise<Buffer | undefined> {
  const read = express.raw({ type: () => true, limit })
  return (request, response) =>
    new Promise((resolve, reject) => {
      read(request, response, (error?: unknown) => {
        if (error === undefined) resolve(Buffer.isBuffer(request.body) ? request.body : undefined)
        else reject(bodyFault(error))
      })
    })
}

/** Whatever stops the reading of a body is the client's doing. */
function bodyFault(error: unknown): ServiceError {
  const status = error instanceof Error && 'status' in error ? error.status : undefined
  if (status === 413) return new ServiceError('ContentTooLarge')
  if (status === 415) return new ServiceError('UnsupportedMediaType')
  return malformed('body', '', 'encoding', 'must arrive whole, in the encoding that its head names')
}

const hasBody = ({ headers }: Request): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

const mediaType = ({ headers }: Request): string =>
  headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() ?? ''

/** @throws UnsupportedMediaType; an empty body needs no media type */
function requireMediaType(request: Request, body: NonNullable<Operation['body']>): void {
  if (!hasBody(request)) return
  const type = mediaType(request)
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(request.headers['content-type'] ?? '')?.[1]
  const text = charset === undefined || /^(utf-8|us-ascii)$/i.test(charset)
  if (body instanceof Raw ? body.types.includes(type) : text && expected(body).test(type)) return
  throw new ServiceError('UnsupportedMediaType', { detail: `Send ${mediaTypesOf(body).join(' or ')}.` })
}

const expected = (body: Form<TSchema> | TSchema): RegExp =>
  body instanceof Form ? /^application\/x-www-form-urlencoded$/ : /^application\/(json|[\w.-]+\+json)$/

/** The media types that an operation reads. */
export function mediaTypesOf(body: NonNullable<Operation['body']>): readonly string[] {
  if (body instanceof Raw) return body.types
  return [body instanceof Form ? 'application/x-www-form-urlencoded' : 'application/json']
}

function decode(request: Request, body: Operation['body'], bytes: Buffer, limits: BodyLimits): unknown {
  if (body === undefined) return undefined
  if (body instanceof Raw) return { type: mediaType(request), bytes } satisfies RawContent
  if (body instanceof Form) return coerced(parseForm(bytes, limits), body.schema as TObject)
  if (bytes.length > 0) return parseJson(bytes, limits)
  // No body has no properties; where any may stand, it would empty what is there.
  return body.additionalProperties === true ? undefined : {}
}

function readQuery(url: string, schema: TObject): Record<string, unknown> {
  const at = url.indexOf('?')
  return at < 0 ? {} : coerced(new URLSearchParams(url.slice(at + 1)), schema)
}

/** Text values as the types their schemas ask for; what does not convert stays text and fails its check. */
function coerced(texts: URLSearchParams, { properties }: TObject): Record<string, unknown> {
  const values: Record<string, unknown> = Object.create(null)
  // `getAll` would go through all of them for each name.
  const byName = new Map<string, string[]>()
  for (const [name, text] of texts) {
    const all = byName.get(name)
    if (all) all.push(text)
    else byName.set(name, [text])
  }
  for (const [name, all] of byName) {
    if (name === 'authToken') continue // read by token.ts
    const schema = Object.hasOwn(properties, name) ? properties[name] : undefined
    // `a,b` and `a&…=b` alike.
    if (schema?.type === 'array')
      values[name] = all
        .flatMap((text) => text.split(','))
        .filter(Boolean)
        .map((text) => convert(text, schema.items))
    else values[name] = all.length > 1 ? all : convert(all[0] ?? '', schema)
  }
  return values
}

function convert(text: string, schema: TSchema | undefined): unknown {
  const numeric = schema?.type === 'integer' || schema?.type === 'number'
  if (numeric && /^-?\d+(\.\d+)?$/.test(text)) return Number(text)
  // A day stands for its beginning, in UTC.
  if (schema?.format === 'date-time' && /^\d{4}-\d\d-\d\d$/.test(text)) return `${text}T00:00:00Z`
  if (schema?.type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}
