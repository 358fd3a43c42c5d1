import { createReadStream } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { Type } from '@sinclair/typebox'
import { ServiceError } from '../../schemas/errors.ts'
import { SERVICE_NAME } from '../../schemas/text/service-name.ts'
import { lookUp } from '../../schemas/validation/look-up.ts'
import { defineOperation, type Operation } from '../operation/operation.ts'
import { rawBody } from '../reply/body-media.ts'
import { CompressedText, replyWithCacheableText } from '../reply/cacheable-text.ts'
import { replyWith } from '../reply/reply.ts'
import { DOCUMENT_FAMILIES, type DocumentFamily, selectFamily } from './document-family.ts'
import type { Json } from './schema-collector.ts'

/** All assets come from the service and nothing is inline. The page works offline and under a strict CSP. */
const createDocsPage = (pathPrefix: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${SERVICE_NAME}</title>
<link rel="icon" href="${pathPrefix}/docs/favicon-32x32.png">
<link rel="stylesheet" href="${pathPrefix}/docs/swagger-ui.css">
<link rel="stylesheet" href="${pathPrefix}/docs/readable.css">
</head>
<body>
<div id="docs"></div>
<script src="${pathPrefix}/docs/swagger-ui-bundle.js"></script>
<script src="${pathPrefix}/docs/start.js"></script>
</body>
</html>
`

/**
 * Replaces the reference resolver of Swagger UI. The original reads the whole document each time, which takes
 * seconds of CPU time for the page and for each operation that is opened. Our document contains internal
 * references only.
 */
const REFERENCE_RESOLVER_SCRIPT = `const nodeAt = (document, path) => path.reduce((node, name) => node?.[name], document)
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

const createStartScript = (pathPrefix: string) => `SwaggerUIBundle({
  url: '${pathPrefix}/openapi.json',
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

/** Swagger UI has a dark mode, but leaves it to the page to choose it. */
const COLOR_SCHEME_SCRIPT = `const dark = matchMedia('(prefers-color-scheme: dark)')
const applyColorScheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', applyColorScheme)
applyColorScheme()
`

/** Adds ARIA labels and roles that Swagger UI lacks. */
const ACCESSIBILITY_SCRIPT = `const docs = document.getElementById('docs')
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
/** Replaces colours of Swagger UI with a contrast below 4.5, and the width of its filter on phones. */
const READABLE_STYLE = `.swagger-ui .filter .operation-filter-input{max-width:none}
@media(prefers-color-scheme:dark){html{background:#1c2022}}
.swagger-ui .info .title small{background:#4a505c}
.swagger-ui .info .title small.version-stamp{background:#3b6600}
.swagger-ui .microlight span[style*="211, 99, 99"],.swagger-ui .microlight span[style*="d36363"]{color:#ff9d9d!important}
.swagger-ui .download-contents{background:#4a505c}
html:not(.dark-mode) .swagger-ui :is(.info .url,.info .link,.info a){color:#0b4f94}
html:not(.dark-mode) .swagger-ui .btn.authorize{color:#1c6b45;border-color:#1c6b45}
html:not(.dark-mode) .swagger-ui .btn.authorize svg{fill:#1c6b45}
html:not(.dark-mode) .swagger-ui .btn.cancel{color:#b3001b;border-color:#b3001b}
html:not(.dark-mode) .swagger-ui .btn.execute{background:#1f5fae;border-color:#1f5fae}
html:not(.dark-mode) .swagger-ui .opblock .opblock-summary-method{color:#111;text-shadow:none}
html:not(.dark-mode) .swagger-ui :is(.parameter__in,.json-schema-2020-12-expand-deep-button){color:#595959}
html.dark-mode .swagger-ui .opblock .opblock-section-header .btn.try-out__btn.cancel{color:#ffb3b3;border-color:#ffb3b3}
html.dark-mode .swagger-ui .opblock.opblock-put .opblock-section-header{background:#5e3826}
html.dark-mode .swagger-ui td.header-col{color:#e4e6e6}
`

const ASSET_TYPES: Readonly<Record<string, string>> = {
  'start.js': 'text/javascript',
  'readable.css': 'text/css',
  'swagger-ui-bundle.js': 'text/javascript',
  'swagger-ui.css': 'text/css',
  'favicon-32x32.png': 'image/png',
}
const SWAGGER_UI_FOLDER = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))

const DOCS_OPERATION = { method: 'get', access: 'public', source: 'ours', extra: true } as const

/**
 * Serves the OpenAPI document at `/openapi.json` and an interactive page at `/docs`.
 * @param pathPrefix path of PUBLIC_URL
 */
export const createDocumentationOperations = (openApi: () => Json, pathPrefix: string): Operation[] => [
  createDocumentOperation(openApi),
  ...createPageOperations(pathPrefix),
]

function createDocumentOperation(openApi: () => Json): Operation {
  let document: Json | undefined
  const texts = new Map<DocumentFamily | undefined, CompressedText>()
  const createText = (family: DocumentFamily | undefined): CompressedText => {
    document ??= openApi()
    const content = family ? selectFamily(document, family) : document
    const text = new CompressedText(JSON.stringify(content), 'application/json')
    texts.set(family, text)
    return text
  }
  return defineOperation({
    ...DOCS_OPERATION,
    id: 'getOpenApi',
    path: '/openapi.json',
    summary: 'Get the OpenAPI document',
    query: {
      family: Type.Optional(
        Type.Unsafe<DocumentFamily>({
          type: 'string',
          enum: DOCUMENT_FAMILIES,
          description: 'Part to describe; default: all',
        }),
      ),
    },
    reply: [200, rawBody('application/json')],
    // The first request makes and compresses three megabytes, and a machine at its start is busy.
    deadlineMs: 30_000,
    handle: ({ query: { family } }, { coding }) => (texts.get(family) ?? createText(family)).reply(coding),
  })
}

const createPageOperations = (pathPrefix: string): Operation[] => [
  defineOperation({
    ...DOCS_OPERATION,
    id: 'getDocumentation',
    path: '/docs',
    summary: 'Get the documentation',
    reply: [200, rawBody('text/html')],
    handle: () => replyWithCacheableText(createDocsPage(pathPrefix), 'text/html; charset=utf-8'),
  }),
  defineOperation({
    ...DOCS_OPERATION,
    id: 'getDocumentationAsset',
    path: '/docs/{asset}',
    params: { asset: Type.String() },
    summary: 'Get an asset of the documentation page',
    reply: [200, rawBody('text/javascript', 'text/css', 'image/png')],
    handle: ({ params: { asset } }) => {
      const type = lookUp(ASSET_TYPES, asset)
      if (type === undefined) throw new ServiceError('NotFound')
      if (asset === 'start.js') {
        const scripts = [COLOR_SCHEME_SCRIPT, ACCESSIBILITY_SCRIPT, REFERENCE_RESOLVER_SCRIPT]
        return replyWithCacheableText(scripts.join('') + createStartScript(pathPrefix), type)
      }
      if (asset === 'readable.css') return replyWithCacheableText(READABLE_STYLE, type)
      const headers = { 'content-type': type, 'cache-control': 'public, max-age=3600' }
      return replyWith(createReadStream(join(SWAGGER_UI_FOLDER, asset)), { headers })
    },
  }),
]
