import { gzipSync } from 'node:zlib'
import type { FuzzRequest } from '../context/fuzz-request.ts'
import type { Random } from '../context/random.ts'

const CONTENT_TYPES = [
  'text/plain',
  'application/xml',
  'application/json; charset=utf-16',
  'application/json; charset=x',
  'application/x-www-form-urlencoded',
  'multipart/form-data',
  'multipart/form-data; boundary=x',
  'image/png',
  'application/merge-patch+json',
  'APPLICATION/JSON',
  'json',
  '',
  ';',
  'application/json;;',
  'a/b; q=\u00e9',
]
const TOKENS = [
  '',
  'Bearer',
  'Bearer ',
  'Bearer x',
  'Basic YTpi',
  'bearer a.b.c',
  `Bearer ${'x'.repeat(5000)}`,
  'null',
]
const createJwt = (header: object, claims: object): string =>
  [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')

type Headers = Record<string, string>

/** Headers from careless or malicious clients. */
const HEADER_MUTATIONS: readonly (readonly [number, (random: Random) => Headers])[] = [
  [3, (random) => ({ 'content-type': random.pick(CONTENT_TYPES) })],
  [
    2,
    (random) => ({
      'if-match': random.pick(['*', '"1"', 'W/"1"', '"x"', '1', '', '"1", "2"', '"\u00ff"', '"1e3"']),
    }),
  ],
  [1, (random) => ({ 'if-none-match': random.pick(['*', '"1"', 'W/"1"', ',', '"'.repeat(500)]) })],
  [
    2,
    (random) => ({
      'idempotency-key': random.pick(['', 'x', 'again-and-again', ' ', '\u00e9', 'k'.repeat(300)]),
    }),
  ],
  [2, (random) => ({ authorization: random.pick(TOKENS) })],
  [1, () => ({ authorization: `Bearer ${createJwt({ alg: 'none' }, { sub: 'x' })}.` })],
  [1, (random) => ({ authtoken: random.pick(TOKENS) })],
  [
    1,
    (random) => ({
      cookie: random.pick(['authToken=x', 'authToken=', '=', 'a=b; a=c', '\u00ff=1', 'authToken=%zz']),
    }),
  ],
  [
    1,
    (random) => ({
      accept: random.pick(['text/html', 'x', '*/*;q=0', '', 'application/xml', ','.repeat(500)]),
    }),
  ],
  [1, (random) => ({ 'x-http-method-override': random.pick(['DELETE', 'PUT', 'TRACE']) })],
  [
    1,
    (random) => ({ 'x-parse-session-token': random.pick(['', 'x', 'r:', `r:${'0'.repeat(32)}`, '\u00e9']) }),
  ],
  [1, (random) => ({ 'x-parse-application-id': random.pick(['', 'x', '__proto__']) })],
  [1, (random) => ({ 'x-parse-master-key': random.pick(['', 'x', '__proto__']) })],
  [1, (random) => ({ 'x-parse-installation-id': random.pick(['x', '\u00e9', 'y'.repeat(2000)]) })],
  [
    1,
    (random) => ({
      'x-parse-cloud-context': random.pick(['{', '{}', '[]', '5', '{"a":1}', '{"__proto__":{}}']),
    }),
  ],
  [1, () => ({ 'x-parse-revocable-session': '0', 'x-parse-client-version': 'js0.0.1' })],
  [1, (random) => ({ 'x-request-id': random.pick(['', 'x'.repeat(200), '../..', '{{}}']) })],
  [1, (random) => ({ 'accept-language': random.pick(['xx', 'nl;q=x', '*', '-', 'en,'.repeat(300)]) })],
  [
    1,
    () => ({
      range: 'bytes=0-1',
      'if-modified-since': 'x',
      'x-forwarded-for': '\u00e9, 1.2.3.4',
      forwarded: 'for=x',
    }),
  ],
  [1, () => ({ origin: 'null', referer: '\u00e9', 'sec-fetch-site': 'cross-site' })],
]

const QUERY_STRINGS = [
  'limit=1&limit=2',
  'a[]=1',
  'a[b][c]=1',
  '__proto__[x]=1',
  'where=%7B',
  'where={"$where":"1"}',
  '%00=1',
  'x=%zz',
  'limit=-1',
  'limit=1e3',
  'limit=99999999999999999999',
  'limit=',
  'cursor=x',
  'cursor=',
  'count=maybe',
  '&&&',
  '?',
  'order=-',
  'skip=-1',
  'include=a.b.c',
  'keys=,',
  'distinct=a',
  'count=1',
  '_method=DELETE',
  'authToken=x',
  '=',
  '#',
  `x=${'y'.repeat(5000)}`,
  'hasOwnProperty=1',
  'limit[]=5',
  'order[a]=1',
  'where[a]=1',
  'explain=true',
  'hint=_id_',
]

const PATH_SEGMENTS = [
  '%00',
  '%ff',
  '..',
  '%2e%2e',
  '%2f',
  '',
  'x'.repeat(300),
  '%F0%9F%A9%BA',
  '__proto__',
  '*',
  '%',
  ';',
  '%u0041',
]

const HTTP_METHODS = [
  'GET',
  'POST',
  'PUT',
  'DELETE',
  'PATCH',
  'HEAD',
  'OPTIONS',
  'TRACE',
  'PROPFIND',
  'QUERY',
]

/** Mutates a request outside of its body. */
export function mutateRequest(ask: FuzzRequest, random: Random): FuzzRequest {
  return random.weighted<() => FuzzRequest>([
    [6, () => withHeaders(ask, random.weighted(HEADER_MUTATIONS)(random))],
    [
      3,
      () => ({
        ...ask,
        path: `${ask.path}${ask.path.includes('?') ? '&' : '?'}${random.pick(QUERY_STRINGS)}`,
      }),
    ],
    [2, () => ({ ...ask, path: mutatePath(ask.path, random) })],
    [1, () => ({ ...ask, method: random.pick(HTTP_METHODS) })],
    [1, () => withEncoding(ask, random)],
    [1, () => ({ ...ask, body: Buffer.from(random.pick(['{}', '[]', 'x', '{"a":1}', '<a/>', 'a=1&b=2'])) })],
  ])()
}

const withHeaders = (ask: FuzzRequest, more: Headers): FuzzRequest => ({
  ...ask,
  headers: { ...ask.headers, ...more },
  loggedIn:
    ask.loggedIn && !Object.keys(more).some((name) => /^(auth|cookie|x-parse|origin|sec-)/.test(name)),
})

function mutatePath(path: string, random: Random): string {
  const parts = path.split('/')
  const position = random.int(1, parts.length - 1)
  const paths = [`/${path}`, `${path}/`, path.toUpperCase(), `${path}%20`, `/.${path}`, `${path};a=b`]
  if (random.chance(0.3)) return random.pick(paths)
  return parts.map((part, i) => (i === position ? random.pick(PATH_SEGMENTS) : part)).join('/')
}

/** Compresses the body, or only claims to. */
function withEncoding(ask: FuzzRequest, random: Random): FuzzRequest {
  const body = ask.body ?? Buffer.from('{}')
  const encoding = random.pick(['gzip', 'deflate', 'br', 'zstd', 'identity', 'x', 'gzip, gzip'])
  const zipped = random.chance(0.5) ? gzipSync(body) : body
  return withHeaders(
    { ...ask, body: random.chance(0.1) ? gzipSync(Buffer.alloc(3_000_000)) : zipped },
    {
      'content-encoding': encoding,
    },
  )
}
