import { Type } from '@sinclair/typebox'
import { linkToken } from '../../schemas/account.ts'
import type { Language } from '../../schemas/code-lists.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { form } from '../answer/media.ts'
import { operation } from '../operation/operation.ts'
import { html, languageOf, markup, type PageText, page, words } from './page.ts'

const source = 'Operations of our own: the pages that mailed links lead to'

const lang = Type.Optional(
  Type.String({ maxLength: 35, description: 'Language of the page', examples: ['nl'] }),
)
const terms = Type.Optional(
  Type.Boolean({ description: 'Whether agreement to the terms of service is needed', examples: [true] }),
)

const Activation = Type.Object(
  { token: linkToken, lang },
  { additionalProperties: false, description: 'The form of the page' },
)

const PasswordChoice = Type.Object(
  {
    token: linkToken,
    lang,
    terms,
    newPassword: Type.String({ maxLength: 1000, description: 'The new password' }),
    termsAccepted: Type.Optional(Type.Boolean({ description: 'Agreement to the terms of service' })),
  },
  { additionalProperties: false, description: 'The form of the page' },
)

const about = { source, extra: true, access: 'public', reply: [200, html] } as const

/** Following a link changes nothing, since mail scanners follow links too; the button does. */
export const accountPages = [
  operation({
    ...about,
    id: 'showActivation',
    method: 'get',
    path: '/auth/account/register/activation',
    summary: 'The page of the activation link: a button',
    query: { token: linkToken, lang },
    handle: ({ query: { token, lang } }) => activationPage(token, languageOf(lang)),
  }),
  operation({
    ...about,
    id: 'sendActivation',
    method: 'post',
    path: '/auth/account/register/activation',
    summary: 'Activate the account, or confirm the new address, from that page',
    body: form(Activation),
    guarded: () => undefined,
    handle: async ({ body: { token, lang } }, { registrations }) => {
      const language = languageOf(lang)
      const failed = await registrations.activate(token).then(() => undefined, refusal)
      if (failed?.error === 'LinkExpired') return notice(language, 'expired', 'expiredHelp')
      if (failed) return notice(language, 'taken', 'takenHelp')
      return notice(language, 'activated', 'activatedHelp')
    },
  }),
  operation({
    ...about,
    id: 'showPasswordChoice',
    method: 'get',
    path: '/auth/account/password/choice',
    summary: 'The page of the link to choose a password: a form',
    query: { token: linkToken, lang, terms },
    handle: ({ query: { token, lang, terms = false } }) => choicePage(token, languageOf(lang), terms, []),
  }),
  operation({
    ...about,
    id: 'sendPasswordChoice',
    method: 'post',
    path: '/auth/account/password/choice',
    summary: 'The form of that page',
    body: form(PasswordChoice),
    guarded: () => undefined,
    handle: async ({ body }, { passwords }) => {
      const { token, lang, terms = false, newPassword, termsAccepted } = body
      const language = languageOf(lang)
      const failed = await passwords
        .chooseByToken(token, newPassword, termsAccepted)
        .then(() => undefined, refusal)
      if (!failed) return notice(language, 'chosen', 'chosenHelp')
      if (failed.error === 'LinkExpired') return notice(language, 'expired', 'expiredHelp')
      const faults = failed.violations.map(({ code }) => words(language, code as PageText))
      return choicePage(token, language, terms, faults)
    },
  }),
]

/** What a page can explain. @throws anything else */
function refusal(error: unknown): ServiceError {
  if (error instanceof ServiceError && ['LinkExpired', 'Conflict', 'RuleViolated'].includes(error.error))
    return error
  throw error
}

const notice = (language: Language, title: PageText, text: PageText) =>
  page(language, title, markup`<p>${words(language, text)}</p>`)

const hidden = (name: string, value: string) => markup`<input type="hidden" name="${name}" value="${value}">`

function activationPage(token: string, language: Language) {
  return page(
    language,
    'activation',
    markup`<p>${words(language, 'activationHelp')}</p>
<form method="post" action="activation">${hidden('token', token)}${hidden('lang', language)}
<button>${words(language, 'confirm')}</button></form>`,
  )
}

function choicePage(token: string, language: Language, terms: boolean, faults: readonly string[]) {
  const agreement = markup`${hidden('terms', 'true')}<label><input type="checkbox" name="termsAccepted"
value="true" required> ${words(language, 'terms')}</label>`
  return page(
    language,
    'choice',
    markup`<ul>${faults.map((fault) => markup`<li>${fault}</li>`)}</ul>
<form method="post" action="choice">${hidden('token', token)}${hidden('lang', language)}
<label>${words(language, 'newPassword')}
<input type="password" name="newPassword" autocomplete="new-password" required></label>
${terms ? agreement : ''}
<button>${words(language, 'save')}</button></form>`,
  )
}
