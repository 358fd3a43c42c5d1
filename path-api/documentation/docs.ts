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
</head>
<body>
<div id="docs"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`

const start = `SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#docs',
  deepLinking: true,
  docExpansion: 'none',
  filter: true,
  tryItOutEnabled: true,
  validatorUrl: null,
})
`

const assetTypes: Readonly<Record<string, string>> = {
  'start.js': 'text/javascript',
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
        if (asset === 'start.js') return revalidated(start, type)
        const headers = { 'content-type': type, 'cache-control': 'public, max-age=3600' }
        return answer(createReadStream(join(folder, asset)), { headers })
      },
    }),
  ]
}
