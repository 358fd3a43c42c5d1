import { operation } from '../operation/operation.ts'
import { html, lang, markup, page, viewOf, words } from './page.ts'

/** What somebody finds who opens the service's own address in a browser. */
export const startPage = [
  operation({
    id: 'showStart',
    method: 'get',
    path: '/',
    summary: 'Show the start page of the service',
    source: 'a page for browsers',
    extra: true,
    query: {
      lang,
    },
    access: 'public',
    reply: [200, html],
    handle: async ({ query: { lang } }, context) => {
      const { publicUrl, open } = context
      const view = await viewOf(lang, context)
      const { language } = view
      const say = (text: Parameters<typeof words>[1]) => words(language, text)
      return page(
        view,
        'start',
        markup`<p>${say(open ? 'openHelp' : 'startHelp')}</p>
${open ? '' : markup`<p><a href="ehr/audit?lang=${language}">${say('accesses')}</a></p>`}
<h2>${say('forPrograms')}</h2>
<p><a href="docs">${say('documentation')}</a><br><a href="openapi.json">OpenAPI</a><br><a
href="health/ready">${say('state')}</a></p>
<table><tbody>
${open ? '' : markup`<tr><th scope="row">${say('pathFamily')}</th><td>${publicUrl}</td></tr>`}
<tr><th scope="row">${say('classFamily')}</th><td>${publicUrl}/1</td></tr></tbody></table>`,
      )
    },
  }),
]
