import type { Request } from 'express'
import type { Terms } from '../operation/services.ts'
import { acceptedLanguageOf, markup, type PageText, type PageView, renderPage, translate } from './page.ts'

/** Whether a browser asks. It prefers HTML; programs accept anything or JSON. */
export const prefersHtml = (request: Request): boolean =>
  request.accepts('application/problem+json', 'application/json', 'text/html') === 'text/html'

/** Whether a browser opens a URL. */
export const prefersPage = (request: Request): boolean =>
  (request.method === 'GET' || request.method === 'HEAD') && prefersHtml(request)

function helpFor(status: number): PageText {
  if (status === 401 || status === 403) return 'failedAccess'
  if (status === 429) return 'failedLimit'
  return status >= 500 || status === 408 ? 'failedService' : 'failedInput'
}

/** Page in place of the problem document that a browser would show as text. */
export function renderFailurePage(
  request: Request,
  { status, headers }: { status: number; headers: Record<string, string> },
  terms: Terms | undefined,
  pathPrefix: string,
) {
  const view: PageView = { terms, language: acceptedLanguageOf(request) }
  const [title, help]: [PageText, PageText] =
    status === 404 ? ['notFound', 'notFoundHelp'] : ['failed', helpFor(status)]
  const { body, head } = renderPage(
    view,
    title,
    markup`<p>${translate(view.language, help)}</p>
<p><a href="${pathPrefix}/">${translate(view.language, 'toStart')}</a></p>`,
  )
  return { status, headers: { ...headers, ...head.headers }, body }
}
