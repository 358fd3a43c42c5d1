import { Type } from '@sinclair/typebox'
import { emailField, linkTokenField } from '../../schemas/accounts/account.ts'
import type { InterfaceLanguage } from '../../schemas/code-lists.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { defineOperation } from '../operation/operation.ts'
import { formBody } from '../reply/body-media.ts'
import { renderPasswordField } from './login-form.ts'
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
  {
    token: linkTokenField,
    lang: languageParameter,
    terms: termsParameter,
    termsAccepted,
    password: Type.Optional(Type.String({ maxLength: 1000, description: 'Password of the registration' })),
  },
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

type LinkPurpose = 'activation' | 'password'

const linkParameter = Type.Optional(
  Type.Unsafe<LinkPurpose>({
    type: 'string',
    enum: ['activation', 'password'],
    default: 'password',
    description: 'Purpose of the link: activation of the account, or a new password',
  }),
)

const NewLinkForm = Type.Object(
  { lang: languageParameter, link: linkParameter, email: emailField() },
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
    summary: 'Get the page for activating an account',
    query: { token: linkTokenField, lang: languageParameter, terms: termsParameter },
    handle: async ({ query: { token, lang, terms } }, context) => {
      const view = await createPageView(lang, context)
      const { isValid, needsPassword } = await context.registrations.findLink(token)
      if (!isValid) return renderExpiredPage(view, 'activation')
      return renderActivationPage(view, { token, terms, needsPassword })
    },
  }),
  defineOperation({
    ...PAGE_DEFAULTS,
    id: 'sendActivation',
    method: 'post',
    path: '/auth/account/register/activation',
    summary: 'Submit the page for activating an account',
    body: formBody(ActivationForm),
    guardedAccount: () => undefined,
    countedAs: 'activateAccount',
    handle: async ({ body: { token, lang, terms, ...proof } }, context) => {
      const view = await createPageView(lang, context)
      const failure = await context.registrations.activate(token, proof).then(() => undefined, toShownError)
      if (!failure) return renderLoginNotice(view, 'activated', 'activatedHelp')
      if (failure.error === 'LinkExpired') return renderExpiredPage(view, 'activation')
      if (failure.error === 'Conflict') return renderNotice(view, 'taken', 'takenHelp')
      const { needsPassword } = await context.registrations.findLink(token)
      const faults = violationTexts(failure, view.language)
      return renderActivationPage(
        view,
        { token, terms: terms || isAboutTerms(failure), needsPassword },
        faults,
      )
    },
  }),
  defineOperation({
    ...PAGE_DEFAULTS,
    id: 'showPasswordChoice',
    method: 'get',
    path: '/auth/account/password/choice',
    summary: 'Get the page for choosing a password',
    query: { token: linkTokenField, lang: languageParameter, terms: termsParameter },
    handle: async ({ query: { token, lang, terms } }, context) => {
      const view = await createPageView(lang, context)
      if (!(await context.passwords.isValid(token))) return renderExpiredPage(view, 'password')
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
    guardedAccount: () => undefined,
    countedAs: 'updatePassword',
    handle: async ({ body: { token, lang, terms, newPassword, termsAccepted } }, context) => {
      const view = await createPageView(lang, context)
      const failure = await context.passwords
        .chooseByToken(token, newPassword, termsAccepted)
        .then(() => undefined, toShownError)
      if (!failure) return renderLoginNotice(view, 'chosen', 'chosenHelp')
      if (failure.error === 'LinkExpired') return renderExpiredPage(view, 'password')
      return renderPasswordPage(
        token,
        view,
        terms || isAboutTerms(failure),
        violationTexts(failure, view.language),
      )
    },
  }),
  defineOperation({
    ...PAGE_DEFAULTS,
    id: 'showNewLink',
    method: 'get',
    path: '/auth/link',
    summary: 'Get the page for requesting a new link by mail',
    query: { lang: languageParameter, link: linkParameter },
    handle: async ({ query: { lang, link = 'password' } }, context) => {
      const view = await createPageView(lang, context)
      const [title, help] = NEW_LINK_TEXTS[link]
      return renderPage(view, title, renderNewLinkForm(view, link, help, 'link'))
    },
  }),
  defineOperation({
    ...PAGE_DEFAULTS,
    id: 'sendNewLink',
    method: 'post',
    path: '/auth/link',
    summary: 'Submit the form for requesting a new link by mail',
    description: 'The response does not reveal whether the account exists.',
    body: formBody(NewLinkForm),
    guardedAccount: ({ body }) => body.email,
    countedAs: 'resetPassword',
    handle: async ({ body: { lang, link, email } }, context) => {
      const view = await createPageView(lang, context)
      if (link === 'activation') await context.registrations.resend(email)
      else await context.passwords.requestReset(email)
      return renderNotice(view, 'linkSent', 'linkSentHelp')
    },
  }),
  defineOperation({
    ...PAGE_DEFAULTS,
    id: 'showTerms',
    method: 'get',
    path: '/auth/terms',
    summary: 'Get the URL and the version of the terms of service',
    query: { lang: languageParameter },
    handle: async ({ query: { lang } }, context) => {
      const view = await createPageView(lang, context)
      const { language, terms } = view
      const text = terms
        ? markup`<p><a href="${terms.url}">${translate(language, 'termsOfService')}</a></p>
<p>${translate(language, 'termsVersion')} ${terms.version}</p>`
        : markup`<p>${translate(language, 'termsUnknown')}</p>`
      return renderPage({ ...view, terms: undefined }, 'termsOfService', text)
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

/** A notice to somebody who can log in now. */
const renderLoginNotice = (view: PageView, title: PageText, text: PageText) => {
  const { language, appUrl } = view
  const link = appUrl ? markup`<p><a href="${appUrl}">${translate(language, 'toApp')}</a></p>` : ''
  return renderPage(view, title, markup`<p>${translate(language, text)}</p>${link}`)
}

const NEW_LINK_TEXTS: Record<LinkPurpose, [title: PageText, help: PageText]> = {
  activation: ['newActivation', 'newActivationHelp'],
  password: ['newPasswordLink', 'newPasswordLinkHelp'],
}

/** @param action URL of /auth/link, relative to the page */
const renderNewLinkForm = ({ language }: PageView, link: LinkPurpose, help: PageText, action: string) =>
  markup`<p>${translate(language, help)}</p>
<form method="post" action="${action}">${renderHiddenInput('link', link)}${renderHiddenInput('lang', language)}
<label>${translate(language, 'email')}<input type="email" name="email" autocomplete="username" required></label>
<button>${translate(language, 'newLink')}</button></form>`

const renderExpiredPage = (view: PageView, link: LinkPurpose) =>
  renderPage(
    view,
    'expired',
    renderNewLinkForm(view, link, 'expiredHelp', '../../link'),
    // The link of a new address expires, too, and only its account can ask for another.
    link === 'activation' ? markup`<p>${translate(view.language, 'expiredChangeHelp')}</p>` : markup``,
  )

const violationTexts = ({ violations }: ServiceError, language: InterfaceLanguage): string[] =>
  violations.map(({ code }) => translate(language, code as PageText))

/** Whether a link has lost its parameter for the terms. */
const isAboutTerms = ({ violations }: ServiceError): boolean =>
  violations.some(({ code }) => code === 'terms-not-accepted')

const renderHiddenInput = (name: string, value: string) =>
  markup`<input type="hidden" name="${name}" value="${value}">`

/**
 * Checkbox for the terms with a link to them; nothing while no terms are published.
 * @param asks whether the person has not agreed yet
 */
const renderAgreement = ({ language, terms }: PageView, asks: boolean | undefined) =>
  asks && terms
    ? markup`${renderHiddenInput('terms', 'true')}<label><input type="checkbox" name="termsAccepted" value="true" required>
${translate(language, 'agree')} <a href="${terms.url}" target="_blank" rel="noreferrer">${translate(language, 'theTerms')}</a></label>`
    : ''

const renderViolations = (faults: readonly string[]) =>
  faults.length === 0 ? '' : markup`<ul role="alert">${faults.map((fault) => markup`<li>${fault}</li>`)}</ul>`

/** A link, and what the page asks of the person who follows it. */
interface ActivationRequest {
  token: string
  terms: boolean | undefined
  needsPassword: boolean
}

const renderRegistrationPassword = ({ language }: PageView) =>
  markup`<p>${translate(language, 'registeredAgain')}</p>
${renderPasswordField(language, 'password', 'password', 'current-password')}
<p><a href="../../link?${new URLSearchParams({ lang: language }).toString()}">${translate(language, 'newPasswordLink')}</a></p>`

function renderActivationPage(
  view: PageView,
  { token, terms, needsPassword }: ActivationRequest,
  faults: readonly string[] = [],
) {
  const { language } = view
  return renderPage(
    view,
    'activation',
    markup`<p>${translate(language, 'activationHelp')}</p>${renderViolations(faults)}
<form method="post" action="activation">${renderHiddenInput('token', token)}${renderHiddenInput('lang', language)}
${needsPassword ? renderRegistrationPassword(view) : ''}${renderAgreement(view, terms)}
<button>${translate(language, 'confirm')}</button></form>`,
  )
}

/** @param terms true to ask for acceptance of the terms */
function renderPasswordPage(token: string, view: PageView, terms: boolean | undefined, faults: string[]) {
  const { language } = view
  return renderPage(
    view,
    'chooseTitle',
    markup`${renderViolations(faults)}
<form method="post" action="choice">${renderHiddenInput('token', token)}${renderHiddenInput('lang', language)}
${renderPasswordField(language, 'newPassword', 'newPassword', 'new-password')}
${renderAgreement(view, terms)}
<button>${translate(language, 'save')}</button></form>`,
  )
}
