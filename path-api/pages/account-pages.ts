import { Type } from '@sinclair/typebox'
import { linkToken } from '../../schemas/account.ts'
import type { Language } from '../../schemas/code-lists.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { form } from '../answer/media.ts'
import { operation } from '../operation/operation.ts'
import { html, lang, markup, type PageText, page, type View, viewOf, words } from './page.ts'

const source = 'the pages that mailed links lead to'

const terms = Type.Optional(
  Type.Boolean({ description: 'Whether agreement to the terms of service is needed', examples: [true] }),
)

const termsAccepted = Type.Optional(Type.Boolean({ description: 'Agreement to the terms of service' }))

const Activation = Type.Object(
  { token: linkToken, lang, terms, termsAccepted },
  { additionalProperties: false, description: 'The form of the page' },
)

const PasswordChoice = Type.Object(
  {
    token: linkToken,
    lang,
    terms,
    newPassword: Type.String({ maxLength: 1000, description: 'The new password' }),
    termsAccepted,
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
    summary: 'Show the page that the activation link leads to',
    query: { token: linkToken, lang, terms },
    handle: async ({ query: { token, lang, terms } }, context) => {
      const view = await viewOf(lang, context)
      if (!(await context.registrations.isValid(token))) return notice(view, 'expired', 'expiredHelp')
      return activationPage(token, view, terms, [])
    },
  }),
  operation({
    ...about,
    id: 'sendActivation',
    method: 'post',
    path: '/auth/account/register/activation',
    summary: 'Submit the page that the activation link leads to',
    body: form(Activation),
    guarded: () => undefined,
    handle: async ({ body: { token, lang, termsAccepted } }, context) => {
      const view = await viewOf(lang, context)
      const failed = await context.registrations.activate(token, termsAccepted).then(() => undefined, refusal)
      if (!failed) return notice(view, 'activated', 'activatedHelp')
      if (failed.error === 'LinkExpired') return notice(view, 'expired', 'expiredHelp')
      if (failed.error === 'Conflict') return notice(view, 'taken', 'takenHelp')
      return activationPage(token, view, true, faultsOf(failed, view.language))
    },
  }),
  operation({
    ...about,
    id: 'showPasswordChoice',
    method: 'get',
    path: '/auth/account/password/choice',
    summary: 'Show the page to choose a password',
    query: { token: linkToken, lang, terms },
    handle: async ({ query: { token, lang, terms } }, context) => {
      const view = await viewOf(lang, context)
      if (!(await context.passwords.isValid(token))) return notice(view, 'expired', 'expiredHelp')
      return choicePage(token, view, terms, [])
    },
  }),
  operation({
    ...about,
    id: 'sendPasswordChoice',
    method: 'post',
    path: '/auth/account/password/choice',
    summary: 'Submit the page to choose a password',
    body: form(PasswordChoice),
    guarded: () => undefined,
    handle: async ({ body: { token, lang, terms, newPassword, termsAccepted } }, context) => {
      const view = await viewOf(lang, context)
      const failed = await context.passwords
        .chooseByToken(token, newPassword, termsAccepted)
        .then(() => undefined, refusal)
      if (!failed) return notice(view, 'chosen', 'chosenHelp')
      if (failed.error === 'LinkExpired') return notice(view, 'expired', 'expiredHelp')
      return choicePage(token, view, terms || isAboutTerms(failed), faultsOf(failed, view.language))
    },
  }),
  operation({
    ...about,
    id: 'showTerms',
    method: 'get',
    path: '/auth/terms',
    summary: 'Show which terms of service apply while TERMS_URL is not set',
    query: { lang },
    handle: async ({ query: { lang } }, context) => {
      const { language } = await viewOf(lang, context)
      const text = markup`<p>${words(language, 'termsUnknown')} ${context.terms.version}</p>`
      return page({ language, terms: undefined }, 'termsOfService', text)
    },
  }),
]

/** What a page can explain. @throws anything else */
function refusal(error: unknown): ServiceError {
  if (error instanceof ServiceError && ['LinkExpired', 'Conflict', 'RuleViolated'].includes(error.error))
    return error
  throw error
}

const notice = (view: View, title: PageText, text: PageText) =>
  page(view, title, markup`<p>${words(view.language, text)}</p>`)

const faultsOf = ({ violations }: ServiceError, language: Language): string[] =>
  violations.map(({ code }) => words(language, code as PageText))

/** A link that has lost what it said of the terms. */
const isAboutTerms = ({ violations }: ServiceError): boolean =>
  violations.some(({ code }) => code === 'terms-not-accepted')

const hidden = (name: string, value: string) => markup`<input type="hidden" name="${name}" value="${value}">`

/** The box, and where to read what it is about. */
const agreement = ({ language, terms }: View) =>
  markup`${hidden('terms', 'true')}<label><input type="checkbox" name="termsAccepted" value="true" required>
${words(language, 'terms')}</label> <a href="${terms?.url ?? ''}" target="_blank" rel="noreferrer">${words(language, 'readTerms')}</a>`

const list = (faults: readonly string[]) =>
  faults.length === 0 ? '' : markup`<ul role="alert">${faults.map((fault) => markup`<li>${fault}</li>`)}</ul>`

/** @param terms whether agreement to them is asked for */
function activationPage(token: string, view: View, terms: boolean | undefined, faults: string[]) {
  const { language } = view
  return page(
    view,
    'activation',
    markup`<p>${words(language, 'activationHelp')}</p>${list(faults)}
<form method="post" action="activation">${hidden('token', token)}${hidden('lang', language)}
${terms ? agreement(view) : ''}
<button>${words(language, 'confirm')}</button></form>`,
  )
}

/** @param terms the same */
function choicePage(token: string, view: View, terms: boolean | undefined, faults: string[]) {
  const { language } = view
  return page(
    view,
    'choice',
    markup`${list(faults)}
<form method="post" action="choice">${hidden('token', token)}${hidden('lang', language)}
<label>${words(language, 'newPassword')}
<input type="password" name="newPassword" autocomplete="new-password" required></label>
${terms ? agreement(view) : ''}
<button>${words(language, 'save')}</button></form>`,
  )
}
