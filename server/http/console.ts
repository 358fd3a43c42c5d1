import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Request, RequestHandler, Response } from 'express'
import { prefersPage } from '../../path-api/pages/failure-page.ts'

/** Where `npm run build` puts the pages, seen from the compiled service. */
const CONSOLE_DIRECTORY = join(import.meta.dirname, '../../console')

const compress = promisify(gzip)

const mediaTypes: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

interface ConsoleFile {
  type: string
  bytes: Buffer
  /** Compressed at the first request for it. */
  compressedBytes?: Promise<Buffer>
}

export const isConsolePath = (path: string): boolean => /^\/console(\/|$)/.test(path)

/** The app for people, unless the operator names another one. */
export const consoleUrlOf = (publicUrl: string): string => `${publicUrl}/console/`

/** Leads browsers from the URL of the service to the console; programs get the start page. */
export const showConsoleFirst =
  (pathPrefix: string): RequestHandler =>
  (request, response, next) =>
    request.url === '/' && prefersPage(request) ? response.redirect(303, `${pathPrefix}/console/`) : next()

/**
 * Serves the console from memory. The names of its assets contain a hash of their content. Every other path below
 * `/console` is a page, which the console itself finds.
 */
export function serveConsole(
  pathPrefix: string,
  termsUrl = '',
  directory = CONSOLE_DIRECTORY,
): RequestHandler {
  const files = readFiles(directory)
  const page = files
    .get('index.html')
    ?.bytes.toString()
    .replaceAll('="./', `="${pathPrefix}/console/`)
    .replace('%TERMS%', encodeURI(termsUrl))
  return (request, response, next) => {
    if (!isConsolePath(request.path) || page === undefined) return next()
    if (request.method !== 'GET' && request.method !== 'HEAD') return next()
    const name = request.path.slice('/console/'.length)
    const file = name === 'index.html' ? undefined : files.get(name)
    if (file) return sendFile(request, response, file).catch(next)
    return name.startsWith('assets/') ? next() : sendPage(response, page)
  }
}

function readFiles(directory: string): Map<string, ConsoleFile> {
  if (!existsSync(directory)) return new Map()
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) => extname(name))
  return new Map(
    names.map((name) => [
      name,
      {
        type: mediaTypes[extname(name)] ?? 'application/octet-stream',
        bytes: readFileSync(join(directory, name)),
      },
    ]),
  )
}

async function sendFile(request: Request, response: Response, file: ConsoleFile): Promise<void> {
  response
    .set('Content-Type', file.type)
    .set('Cache-Control', 'public, max-age=31536000, immutable')
    .vary('Accept-Encoding')
  if (!request.acceptsEncodings('gzip')) {
    response.end(file.bytes)
    return
  }
  file.compressedBytes ??= compress(file.bytes, { level: 9 })
  response.set('Content-Encoding', 'gzip').end(await file.compressedBytes)
}

function sendPage(response: Response, page: string): void {
  response
    .set('Content-Type', 'text/html; charset=utf-8')
    .set('Cache-Control', 'no-store')
    .set('Content-Security-Policy', CONTENT_SECURITY_POLICY)
    .end(page)
}

/** Permits nothing but the console's own files and calls. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' blob: data:",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'self'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')
