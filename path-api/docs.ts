import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import express, { type RequestHandler, type Router } from 'express'

/** Paths are relative, so that the page works behind a prefix too; nothing comes from elsewhere or stands inline. */
const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Health Record Service</title>
<link rel="icon" href="docs/favicon-32x32.png">
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="docs"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`

const start = `SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#docs',
  deepLinking: true,
  docExpansion: 'none',
  filter: true,
  tryItOutEnabled: true,
  validatorUrl: null,
})
`

const assets = ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png']

/** Serves the OpenAPI document at `/openapi.json` and a page to read and try it at `/docs`. */
export function documentation(openApi: object): Router {
  const router = express.Router()
  const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
  router.get('/openapi.json', fixed('application/json', JSON.stringify(openApi)))
  router.get('/docs', fixed('text/html', page))
  router.get('/docs/start.js', fixed('text/javascript', start))
  for (const asset of assets) {
    router.get(`/docs/${asset}`, (_request, response) =>
      response.sendFile(join(folder, asset), { maxAge: '1h' }),
    )
  }
  return router
}

function fixed(type: string, text: string): RequestHandler {
  const etag = `"${createHash('sha256').update(text).digest('base64url').slice(0, 20)}"`
  return (_request, response) => {
    response.set({ etag, 'cache-control': 'no-cache' }).type(type).send(text)
  }
}
