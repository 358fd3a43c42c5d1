import type { Request } from 'express'
import type { Terms } from '../operation/services.ts'
import { acceptedLanguageOf, markup, type PageView, renderPage, translate } from './page.ts'

/** True for browsers, which prefer HTML; programs accept anything or JSON. */
export const prefersPage = (request: Request): boolean =>
  (request.method === 'GET' || request.method === 'HEAD') &&
  request.accepts('application/problem+json', 'application/json', 'text/html') === 'text/html'

/** Page in place of the problem document that a browser would show as text. */
export function renderNotFoundPage(request: Request, terms: Terms | undefined, pathPrefix: string) {
  const view: PageView = { terms, language: acceptedLanguageOf(request) }
  const { body, head } = renderPage(
    view,
    'notFound',
    markup`<p>${translate(view.language, 'notFoundHelp')}</p>
<p><a href="${pathPrefix}/">${translate(view.language, 'toStart')}</a></p>`,
  )
  return { status: 404, headers: head.headers, body }
}
