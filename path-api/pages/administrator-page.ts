import { Type } from '@sinclair/typebox'
import { isLoopbackAddress } from '../../records/limits/loopback.ts'
import { emailField, linkTokenField } from '../../schemas/accounts/account.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { defineOperation } from '../operation/operation.ts'
import { formBody } from '../reply/body-media.ts'
import { replyWith } from '../reply/reply.ts'
import {
  createPageView,
  htmlBody,
  languageParameter,
  markup,
  type PageView,
  renderPage,
  translate,
} from './page.ts'

const FirstAdministratorForm = Type.Object(
  { token: linkTokenField, lang: languageParameter, email: emailField() },
  { additionalProperties: false, description: 'Form of the page' },
)

const PAGE_DEFAULTS = {
  source: 'the page that the first start prints a link to',
  path: '/auth/administrator',
  extra: true,
  access: 'public',
  errors: ['NotFound'],
} as const

/** Creates the first administrator. The pages work on the machine of the service only. */
export const administratorPage = [
  defineOperation({
    ...PAGE_DEFAULTS,
    id: 'showFirstAdministrator',
    method: 'get',
    summary: 'Get the page for creating the first administrator',
    description:
      'On startup the service prints a link to this page. The link is valid for an hour and works on this machine only.',
    query: { token: linkTokenField, lang: languageParameter },
    reply: [200, htmlBody],
    handle: async ({ query: { token, lang } }, context) => {
      requireLoopback(context.address)
      const view = await createPageView(lang, context)
      const { language } = view
      if (!(await context.administrators.isValidOffer(token))) return renderExpiredPage(view)
      return renderPage(
        view,
        'firstAdministrator',
        markup`<p>${translate(language, 'firstAdministratorHelp')}</p>
<form method="post" action="administrator"><input type="hidden" name="token" value="${token}"><input
type="hidden" name="lang" value="${language}">
<label>${translate(language, 'email')}<input type="email" name="email" autocomplete="username" required></label>
<button>${translate(language, 'continue')}</button></form>`,
      )
    },
  }),
  defineOperation({
    ...PAGE_DEFAULTS,
    id: 'makeFirstAdministrator',
    method: 'post',
    summary: 'Submit the page for creating the first administrator',
    body: formBody(FirstAdministratorForm),
    guardedAccount: () => undefined,
    reply: [303],
    handle: async ({ body: { token, lang = 'en', email } }, { administrators, address }) => {
      requireLoopback(address)
      const back = { location: `administrator?${new URLSearchParams({ token, lang })}` }
      if (!(await administrators.isValidOffer(token))) return replyWith(undefined, back)
      const offer = await administrators.acceptOffer(email)
      // An account with a password logs in with it.
      if (!offer) return replyWith(undefined, { location: `../?${new URLSearchParams({ lang })}` })
      const query = { token: offer.token, lang, ...(offer.agreed ? {} : { terms: 'true' }) }
      return replyWith(undefined, { location: `account/password/choice?${new URLSearchParams(query)}` })
    },
  }),
]

const renderExpiredPage = (view: PageView) =>
  renderPage(view, 'expired', markup`<p>${translate(view.language, 'setupLinkExpiredHelp')}</p>`)

/** @throws NotFound */
function requireLoopback(address: string): void {
  if (!isLoopbackAddress(address)) throw new ServiceError('NotFound')
}
