import { Type } from '@sinclair/typebox'
import { linkToken } from '../../schemas/account.ts'
import type { Language } from '../../schemas/code-lists.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { form } from '../answer/media.ts'
import { operation } from '../operation/operation.ts'
import type { Terms } from '../operation/services.ts'
import { html, languageOf, markup, type PageText, page, words } from './page.ts'

const source = 'the pages that mailed links lead to'

const lang = Type.Optional(
  Type.String({ maxLength: 35, description: 'Language of the page', examples: ['nl'] }),
)
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
    handle: ({ query: { token, lang, terms: withTerms } }, { terms }) =>
      activationPage(token, languageOf(lang), withTerms ? terms : undefined, []),
  }),
  operation({
    ...about,
    id: 'sendActivation',
    method: 'post',
    path: '/auth/account/register/activation',
    summary: 'Submit the page that the activation link leads to',
    body: form(Activation),
    guarded: () => undefined,
    handle: async ({ body: { token, lang, termsAccepted } }, { registrations, terms }) => {
      const language = languageOf(lang)
      const failed = await registrations.activate(token, termsAccepted).then(() => undefined, refusal)
      if (!failed) return notice(language, 'activated', 'activatedHelp')
      if (failed.error === 'LinkExpired') return notice(language, 'expired', 'expiredHelp')
      if (failed.error === 'Conflict') return notice(language, 'taken', 'takenHelp')
      return activationPage(token, language, terms, faultsOf(failed, language))
    },
  }),
  operation({
    ...about,
    id: 'showPasswordChoice',
    method: 'get',
    path: '/auth/account/password/choice',
    summary: 'Show the page to choose a password',
    query: { token: linkToken, lang, terms },
    handle: ({ query: { token, lang, terms: withTerms } }, { terms }) =>
      choicePage(token, languageOf(lang), withTerms ? terms : undefined, []),
  }),
  operation({
    ...about,
    id: 'sendPasswordChoice',
    method: 'post',
    path: '/auth/account/password/choice',
    summary: 'Submit the page to choose a password',
    body: form(PasswordChoice),
    guarded: () => undefined,
    handle: async ({ body }, { passwords, terms }) => {
      const { token, lang, terms: withTerms, newPassword, termsAccepted } = body
      const language = languageOf(lang)
      const failed = await passwords
        .chooseByToken(token, newPassword, termsAccepted)
        .then(() => undefined, refusal)
      if (!failed) return notice(language, 'chosen', 'chosenHelp')
      if (failed.error === 'LinkExpired') return notice(language, 'expired', 'expiredHelp')
      const termsToShow = withTerms || isAboutTerms(failed) ? terms : undefined
      return choicePage(token, language, termsToShow, faultsOf(failed, language))
    },
  }),
  operation({
    ...about,
    id: 'showTerms',
    method: 'get',
    path: '/auth/terms',
    summary: 'Show which terms of service apply while TERMS_URL is not set',
    query: { lang },
    handle: ({ query: { lang } }, { terms }) => {
      const language = languageOf(lang)
      const text = markup`<p>${words(language, 'termsUnknown')} ${terms.version}</p>`
      return page(language, 'termsOfService', text)
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

const faultsOf = ({ violations }: ServiceError, language: Language): string[] =>
  violations.map(({ code }) => words(language, code as PageText))

/** A link that has lost what it said of the terms. */
const isAboutTerms = ({ violations }: ServiceError): boolean =>
  violations.some(({ code }) => code === 'terms-not-accepted')

const hidden = (name: string, value: string) => markup`<input type="hidden" name="${name}" value="${value}">`

/** The box, and where to read what it is about. */
const agreement = (language: Language, { url }: Terms) =>
  markup`${hidden('terms', 'true')}<label><input type="checkbox" name="termsAccepted" value="true" required>
${words(language, 'terms')}</label> <a href="${url}" target="_blank" rel="noreferrer">${words(language, 'readTerms')}</a>`

const list = (faults: readonly string[]) =>
  markup`<ul>${faults.map((fault) => markup`<li>${fault}</li>`)}</ul>`

function activationPage(token: string, language: Language, terms: Terms | undefined, faults: string[]) {
  return page(
    language,
    'activation',
    markup`<p>${words(language, 'activationHelp')}</p>${list(faults)}
<form method="post" action="activation">${hidden('token', token)}${hidden('lang', language)}
${terms ? agreement(language, terms) : ''}
<button>${words(language, 'confirm')}</button></form>`,
  )
}

function choicePage(token: string, language: Language, terms: Terms | undefined, faults: string[]) {
  return page(
    language,
    'choice',
    markup`${list(faults)}
<form method="post" action="choice">${hidden('token', token)}${hidden('lang', language)}
<label>${words(language, 'newPassword')}
<input type="password" name="newPassword" autocomplete="new-password" required></label>
${terms ? agreement(language, terms) : ''}
<button>${words(language, 'save')}</button></form>`,
  )
}
