import { createReadStream } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { Type } from '@sinclair/typebox'
import { ServiceError } from '../../schemas/errors.ts'
import { answer } from '../answer/answer.ts'
import { raw } from '../answer/media.ts'
import { revalidated } from '../answer/revalidated.ts'
import { type Operation, operation } from '../operation/operation.ts'

/** Nothing comes from elsewhere or stands inline: it works without Internet and under a strict policy. */
const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Health Record Service</title>
<link rel="icon" href="/docs/favicon-32x32.png">
<link rel="stylesheet" href="/docs/swagger-ui.css">
<link rel="stylesheet" href="/docs/readable.css">
</head>
<body>
<div id="docs"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`

/**
 * How Swagger UI finds what a part of the document refers to. Its own way reads the whole document each time: seconds of a
 * processor for the page, and again for each operation that is opened. Ours refers to nothing but itself.
 */
const resolving = `const nodeAt = (document, path) => path.reduce((node, name) => node?.[name], document)
const pathOf = (reference) =>
  reference.slice(2).split('/').map((name) => decodeURIComponent(name).replaceAll('~1', '/').replaceAll('~0', '~'))
function resolved(document, node, within = []) {
  if (Array.isArray(node)) return node.map((one) => resolved(document, one, within))
  if (node === null || typeof node !== 'object') return node
  const { $ref: reference, ...own } = node
  const isReference = typeof reference === 'string' && reference.startsWith('#/')
  if (isReference && within.includes(reference)) return node
  const members = Object.entries(isReference ? own : node).map(([name, one]) => [name, resolved(document, one, within)])
  const target = isReference && resolved(document, nodeAt(document, pathOf(reference)), [...within, reference])
  return { ...target, ...Object.fromEntries(members) }
}
const resolveSubtree = async (document, path) => ({ spec: resolved(document, nodeAt(document, path)), errors: [] })
`

const start = `SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#docs',
  deepLinking: true,
  docExpansion: 'none',
  filter: true,
  tryItOutEnabled: true,
  validatorUrl: null,
  // A token that has been entered is there after a reload, too.
  persistAuthorization: true,
  plugins: [() => ({ fn: { resolveSubtree } })],
})
`

/** What Swagger UI leaves out for those who do not see the page, or not well. */
const mending = `const docs = document.getElementById('docs')
const regions = { '.information-container': 'About', '.scheme-container': 'Server', '.filter-container': 'Filter' }
new MutationObserver(() => {
  document.getElementById('servers')?.setAttribute('aria-label', 'Server')
  for (const heading of docs.querySelectorAll('h3.opblock-tag, section.models > h4'))
    heading.setAttribute('aria-level', '2')
  for (const [selector, label] of Object.entries(regions))
    for (const part of docs.querySelectorAll(selector)) {
      part.setAttribute('role', 'region')
      part.setAttribute('aria-label', label)
    }
}).observe(docs, { childList: true, subtree: true })
`
const readable = `.swagger-ui .info .title small{background:#4a505c}
.swagger-ui .info .title small.version-stamp{background:#3b6600}
.swagger-ui .info .url,.swagger-ui .info .link,.swagger-ui .info a{color:#0b4f94}
.swagger-ui .btn.authorize{color:#1c6b45;border-color:#1c6b45}.swagger-ui .btn.authorize svg{fill:#1c6b45}
`

const assetTypes: Readonly<Record<string, string>> = {
  'start.js': 'text/javascript',
  'readable.css': 'text/css',
  'swagger-ui-bundle.js': 'text/javascript',
  'swagger-ui.css': 'text/css',
  'favicon-32x32.png': 'image/png',
}
const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))

const about = { method: 'get', access: 'public', source: 'ours', extra: true } as const

/** The OpenAPI document at `/openapi.json`, and at `/docs` a page to read and try it. */
export function documentation(openApi: () => object): Operation[] {
  let document: string | undefined
  return [
    operation({
      ...about,
      id: 'getOpenApi',
      path: '/openapi.json',
      summary: 'The OpenAPI document',
      reply: [200, raw('application/json')],
      handle: () => {
        document ??= JSON.stringify(openApi())
        return revalidated(document, 'application/json')
      },
    }),
    operation({
      ...about,
      id: 'getDocumentation',
      path: '/docs',
      summary: 'The documentation as a page',
      reply: [200, raw('text/html')],
      handle: () => revalidated(page, 'text/html; charset=utf-8'),
    }),
    operation({
      ...about,
      id: 'getDocumentationAsset',
      path: '/docs/{asset}',
      params: { asset: Type.String() },
      summary: 'A part of the page',
      reply: [200, raw('text/javascript', 'text/css', 'image/png')],
      handle: ({ params: { asset } }) => {
        const type = Object.hasOwn(assetTypes, asset) ? assetTypes[asset] : undefined
        if (type === undefined) throw new ServiceError('NotFound')
        if (asset === 'start.js') return revalidated(mending + resolving + start, type)
        if (asset === 'readable.css') return revalidated(readable, type)
        const headers = { 'content-type': type, 'cache-control': 'public, max-age=3600' }
        return answer(createReadStream(join(folder, asset)), { headers })
      },
    }),
  ]
}
