import { Type } from '@sinclair/typebox'
import { emailAddress, linkToken } from '../../schemas/account.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { answer } from '../answer/answer.ts'
import { form } from '../answer/media.ts'
import { operation } from '../operation/operation.ts'
import { html, lang, markup, page, type View, viewOf, words } from './page.ts'

const FirstAdministrator = Type.Object(
  { token: linkToken, lang, email: emailAddress() },
  { additionalProperties: false, description: 'The form of the page' },
)

const about = {
  source: 'the page that the first start prints a link to',
  path: '/auth/administrator',
  extra: true,
  access: 'public',
} as const

/** How the first administrator is made, on the machine itself: elsewhere the pages are not there. */
export const administratorPage = [
  operation({
    ...about,
    id: 'showFirstAdministrator',
    method: 'get',
    summary: 'Show the page on which the first administrator is made',
    description: 'The start of the service prints a link to it, valid for an hour, on this machine only.',
    query: { token: linkToken, lang },
    reply: [200, html],
    handle: async ({ query: { token, lang } }, context) => {
      requireLoopback(context.address)
      const view = await viewOf(lang, context)
      const { language } = view
      if (!(await context.administrators.isOffered(token))) return expired(view)
      return page(
        view,
        'firstAdministrator',
        markup`<p>${words(language, 'firstAdministratorHelp')}</p>
<form method="post" action="administrator"><input type="hidden" name="token" value="${token}"><input
type="hidden" name="lang" value="${language}">
<label>${words(language, 'email')}<input type="email" name="email" autocomplete="username" required></label>
<button>${words(language, 'goOn')}</button></form>`,
      )
    },
  }),
  operation({
    ...about,
    id: 'makeFirstAdministrator',
    method: 'post',
    summary: 'Submit the page on which the first administrator is made',
    body: form(FirstAdministrator),
    guarded: () => undefined,
    reply: [303],
    handle: async ({ body: { token, lang = 'en', email } }, { administrators, address }) => {
      requireLoopback(address)
      const back = { location: `administrator?${new URLSearchParams({ token, lang })}` }
      if (!(await administrators.isOffered(token))) return answer(undefined, back)
      const made = await administrators.acceptOffer(email)
      // Somebody who has a password logs in with it.
      if (!made) return answer(undefined, { location: `../?${new URLSearchParams({ lang })}` })
      const query = { token: made.token, lang, ...(made.agreed ? {} : { terms: 'true' }) }
      return answer(undefined, { location: `account/password/choice?${new URLSearchParams(query)}` })
    },
  }),
]

const expired = (view: View) =>
  page(view, 'expired', markup`<p>${words(view.language, 'offerExpiredHelp')}</p>`)

/** @throws NotFound */
function requireLoopback(address: string): void {
  if (!/^(::ffff:)?127\.|^::1$/.test(address)) throw new ServiceError('NotFound')
}
