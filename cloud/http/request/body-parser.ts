import express, { type Express, type Request, type RequestHandler } from 'express'
import { findRepeatedNames, NameCounter, RepeatedNamesError } from '../../../schemas/json/repeated-names.ts'
import { walkJson } from '../../../schemas/json/walk-json.ts'
import { JSON_LIMITS } from './json-validation.ts'
import { parseErrorCode } from './parse-request.ts'

/** Bodies that are being parsed. */
const texts = new WeakMap<object, string>()
const utf8 = new TextDecoder()

/** Parse takes a body of any type but a form as JSON. */
const parseBody = express.json({
  type: (request) => !/^multipart\/form-data/i.test(request.headers['content-type'] ?? ''),
  limit: '1mb',
  verify: (request, _response, bytes, encoding) => {
    if (encoding === 'utf-8') texts.set(request, utf8.decode(bytes))
  },
})

/** Parses JSON as Parse does, and refuses several values of one name. */
const parseUnambiguousBody: RequestHandler = (request, response, next) =>
  parseBody(request, response, (error?: unknown) => {
    const names = error === undefined ? findNamesIn(request) : []
    texts.delete(request)
    if (names.length === 0) return next(error)
    const message = `The body has ${new RepeatedNamesError(names).message}.`
    response.status(400).json({ code: parseErrorCode.invalidJson, error: message })
  })

/** Later checks refuse a body that exceeds the limits. */
function findNamesIn(request: Request): string[] {
  const text = texts.get(request)
  if (text === undefined) return []
  const names = new NameCounter()
  const exceededLimit = walkJson(request.body, JSON_LIMITS, names.add)
  return exceededLimit === undefined ? findRepeatedNames(text, names.count) : []
}

/** Replaces the parser of Parse, which cannot be configured. */
export function replaceBodyParser(parse: Express): void {
  const layer = parse.router.stack.find(({ name }) => name === 'jsonParser')
  if (!layer) throw new Error('Parse Server has no parser of JSON to replace')
  layer.handle = parseUnambiguousBody
}
