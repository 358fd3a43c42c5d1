import { defineOperation } from '../operation/operation.ts'
import { createPageView, htmlBody, languageParameter, markup, renderPage, translate } from './page.ts'

/** Page at the root URL of the service. */
export const startPage = [
  defineOperation({
    id: 'showStart',
    method: 'get',
    path: '/',
    summary: 'Get the start page of the service',
    source: 'a page for browsers',
    extra: true,
    query: {
      lang: languageParameter,
    },
    access: 'public',
    reply: [200, htmlBody],
    handle: async ({ query: { lang } }, context) => {
      const { publicUrl, pathPrefix, open } = context
      const view = await createPageView(lang, context)
      const { language } = view
      const say = (text: Parameters<typeof translate>[1]) => translate(language, text)
      return renderPage(
        view,
        'start',
        markup`<p>${say(open ? 'openHelp' : 'startHelp')}</p>
${open ? '' : markup`<p><a href="${pathPrefix}/ehr/audit?lang=${language}">${say('accesses')}</a></p>`}
<h2>${say('forPrograms')}</h2>
<p><a href="${pathPrefix}/docs">${say('documentation')}</a><br><a href="${pathPrefix}/openapi.json">OpenAPI</a><br><a
href="${pathPrefix}/health/ready">${say('state')}</a></p>
<table><tbody>
${open ? '' : markup`<tr><th scope="row">${say('pathFamily')}</th><td>${publicUrl}</td></tr>`}
<tr><th scope="row">${say('classFamily')}</th><td>${publicUrl}/1</td></tr></tbody></table>`,
      )
    },
  }),
]
