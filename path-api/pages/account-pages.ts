import { Type } from '@sinclair/typebox'
import { linkTokenField } from '../../schemas/accounts/account.ts'
import type { InterfaceLanguage } from '../../schemas/code-lists.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { defineOperation } from '../operation/operation.ts'
import { formBody } from '../reply/body-media.ts'
import {
  createPageView,
  htmlBody,
  languageParameter,
  markup,
  type PageText,
  type PageView,
  renderPage,
  translate,
} from './page.ts'

const PAGES_SOURCE = 'the pages that mailed links lead to'

const termsParameter = Type.Optional(
  Type.Boolean({ description: 'True if the terms of service must be accepted', examples: [true] }),
)

const termsAccepted = Type.Optional(Type.Boolean({ description: 'Acceptance of the terms of service' }))

const ActivationForm = Type.Object(
  { token: linkTokenField, lang: languageParameter, terms: termsParameter, termsAccepted },
  { additionalProperties: false, description: 'Form of the page' },
)

const PasswordForm = Type.Object(
  {
    token: linkTokenField,
    lang: languageParameter,
    terms: termsParameter,
    newPassword: Type.String({ maxLength: 1000, description: 'New password' }),
    termsAccepted,
  },
  { additionalProperties: false, description: 'Form of the page' },
)

const PAGE_DEFAULTS = { source: PAGES_SOURCE, extra: true, access: 'public', reply: [200, htmlBody] } as const

/** Opening a link changes nothing, because mail scanners open links. Only the button does. */
export const accountPages = [
  defineOperation({
    ...PAGE_DEFAULTS,
    id: 'showActivation',
    method: 'get',
    path: '/auth/account/register/activation',
    summary: 'Show the page for activating an account',
    query: { token: linkTokenField, lang: languageParameter, terms: termsParameter },
    handle: async ({ query: { token, lang, terms } }, context) => {
      const view = await createPageView(lang, context)
      if (!(await context.registrations.isValid(token))) return renderNotice(view, 'expired', 'expiredHelp')
      return renderActivationPage(token, view, terms, [])
    },
  }),
  defineOperation({
    ...PAGE_DEFAULTS,
    id: 'sendActivation',
    method: 'post',
    path: '/auth/account/register/activation',
    summary: 'Submit the page for activating an account',
    body: formBody(ActivationForm),
    guarded: () => undefined,
    handle: async ({ body: { token, lang, termsAccepted } }, context) => {
      const view = await createPageView(lang, context)
      const failed = await context.registrations
        .activate(token, termsAccepted)
        .then(() => undefined, toShownError)
      if (!failed) return renderNotice(view, 'activated', 'activatedHelp')
      if (failed.error === 'LinkExpired') return renderNotice(view, 'expired', 'expiredHelp')
      if (failed.error === 'Conflict') return renderNotice(view, 'taken', 'takenHelp')
      return renderActivationPage(token, view, true, violationTexts(failed, view.language))
    },
  }),
  defineOperation({
    ...PAGE_DEFAULTS,
    id: 'showPasswordChoice',
    method: 'get',
    path: '/auth/account/password/choice',
    summary: 'Show the page for choosing a password',
    query: { token: linkTokenField, lang: languageParameter, terms: termsParameter },
    handle: async ({ query: { token, lang, terms } }, context) => {
      const view = await createPageView(lang, context)
      if (!(await context.passwords.isValid(token))) return renderNotice(view, 'expired', 'expiredHelp')
      return renderPasswordPage(token, view, terms, [])
    },
  }),
  defineOperation({
    ...PAGE_DEFAULTS,
    id: 'sendPasswordChoice',
    method: 'post',
    path: '/auth/account/password/choice',
    summary: 'Submit the page for choosing a password',
    body: formBody(PasswordForm),
    guarded: () => undefined,
    handle: async ({ body: { token, lang, terms, newPassword, termsAccepted } }, context) => {
      const view = await createPageView(lang, context)
      const failed = await context.passwords
        .chooseByToken(token, newPassword, termsAccepted)
        .then(() => undefined, toShownError)
      if (!failed) return renderNotice(view, 'chosen', 'chosenHelp')
      if (failed.error === 'LinkExpired') return renderNotice(view, 'expired', 'expiredHelp')
      return renderPasswordPage(
        token,
        view,
        terms || isAboutTerms(failed),
        violationTexts(failed, view.language),
      )
    },
  }),
  defineOperation({
    ...PAGE_DEFAULTS,
    id: 'showTerms',
    method: 'get',
    path: '/auth/terms',
    summary: 'Show the placeholder for the terms of service while TERMS_URL is not set',
    query: { lang: languageParameter },
    handle: async ({ query: { lang } }, context) => {
      const { language } = await createPageView(lang, context)
      const text = markup`<p>${translate(language, 'termsUnknown')} ${context.terms.version}</p>`
      return renderPage({ language, terms: undefined }, 'termsOfService', text)
    },
  }),
]

/**
 * Returns an error that the page can explain.
 * @throws any other error
 */
function toShownError(error: unknown): ServiceError {
  if (error instanceof ServiceError && ['LinkExpired', 'Conflict', 'RuleViolated'].includes(error.error))
    return error
  throw error
}

const renderNotice = (view: PageView, title: PageText, text: PageText) =>
  renderPage(view, title, markup`<p>${translate(view.language, text)}</p>`)

const violationTexts = ({ violations }: ServiceError, language: InterfaceLanguage): string[] =>
  violations.map(({ code }) => translate(language, code as PageText))

/** True if a link has lost its parameter for the terms. */
const isAboutTerms = ({ violations }: ServiceError): boolean =>
  violations.some(({ code }) => code === 'terms-not-accepted')

const renderHiddenInput = (name: string, value: string) =>
  markup`<input type="hidden" name="${name}" value="${value}">`

/** Checkbox for the terms with a link to them. */
const renderAgreement = ({ language, terms }: PageView) =>
  markup`${renderHiddenInput('terms', 'true')}<label><input type="checkbox" name="termsAccepted" value="true" required>
${translate(language, 'terms')}</label> <a href="${terms?.url ?? ''}" target="_blank" rel="noreferrer">${translate(language, 'readTerms')}</a>`

const renderViolations = (faults: readonly string[]) =>
  faults.length === 0 ? '' : markup`<ul role="alert">${faults.map((fault) => markup`<li>${fault}</li>`)}</ul>`

/** @param terms true to ask for acceptance of the terms */
function renderActivationPage(token: string, view: PageView, terms: boolean | undefined, faults: string[]) {
  const { language } = view
  return renderPage(
    view,
    'activation',
    markup`<p>${translate(language, 'activationHelp')}</p>${renderViolations(faults)}
<form method="post" action="activation">${renderHiddenInput('token', token)}${renderHiddenInput('lang', language)}
${terms ? renderAgreement(view) : ''}
<button>${translate(language, 'confirm')}</button></form>`,
  )
}

/** @param terms true to ask for acceptance of the terms */
function renderPasswordPage(token: string, view: PageView, terms: boolean | undefined, faults: string[]) {
  const { language } = view
  return renderPage(
    view,
    'choice',
    markup`${renderViolations(faults)}
<form method="post" action="choice">${renderHiddenInput('token', token)}${renderHiddenInput('lang', language)}
<label>${translate(language, 'newPassword')}
<input type="password" name="newPassword" autocomplete="new-password" required></label>
${terms ? renderAgreement(view) : ''}
<button>${translate(language, 'save')}</button></form>`,
  )
}
