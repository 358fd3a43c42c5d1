import { Type } from '@sinclair/typebox'
import type { AppRequest, AppRequestLogin } from '../../../../records/accounts/apps/app-authorizations.ts'
import { hasRedirectUri } from '../../../../records/accounts/apps/app-rules.ts'
import { needsPatient, resourceScopesOf } from '../../../../records/accounts/apps/app-scopes.ts'
import type { FhirResource } from '../../../../records/fhir/mapping.ts'
import type { Caller } from '../../../../records/store/documents/caller.ts'
import type { App } from '../../../../schemas/accounts/app.ts'
import { ServiceError } from '../../../../schemas/errors.ts'
import type { Context } from '../../../operation/context.ts'
import { defineOperation } from '../../../operation/operation.ts'
import {
  type FailedLogin,
  renderLoginFailure,
  renderLoginFields,
  toLoginFailure,
} from '../../../pages/login-form.ts'
import {
  createPageView,
  htmlBody,
  languageParameter,
  markup,
  type PageText,
  type PageView,
  renderPage,
  translate,
} from '../../../pages/page.ts'
import { formBody } from '../../../reply/body-media.ts'
import { replyWith } from '../../../reply/reply.ts'
import { SMART_PATHS } from '../../smart-urls.ts'
import {
  type AuthorizationParameters,
  authorizationFields,
  checkAuthorizationRequest,
  openForm,
  type ReceivedRequest,
  responseUrl,
} from './authorization-request.ts'
import { describeScopes, durationText, reachesEverybody } from './scope-texts.ts'

const RequestForm = Type.Object(authorizationFields, {
  ...openForm,
  description: 'Authorization request of an app',
})

const LoginForm = Type.Object(
  {
    ...authorizationFields,
    email: Type.Optional(
      Type.String({ maxLength: 320, description: 'E-mail address', examples: ['ann@example.org'] }),
    ),
    password: Type.Optional(Type.String({ maxLength: 1000, description: 'Password' })),
  },
  { ...openForm, description: 'Form of the page' },
)

const DecisionForm = Type.Object(
  {
    request: Type.Optional(
      Type.String({ pattern: '^[\\w-]*$', maxLength: 100, description: 'Secret of the open request' }),
    ),
    decision: Type.Optional(
      Type.Unsafe<'admit' | 'refuse'>({
        type: 'string',
        enum: ['admit', 'refuse'],
        description: 'Decision of the person',
      }),
    ),
    patient: Type.Optional(
      Type.String({
        pattern: '^[!-~]*$',
        maxLength: 64,
        description: 'EHR to which the app gets access',
        examples: ['e5RtGb81Xz'],
      }),
    ),
    lang: languageParameter,
  },
  { ...openForm, description: 'Form of the page' },
)

const common = {
  source: 'SMART App Launch 2.2',
  extra: true,
  access: 'public',
  reply: [200, htmlBody],
  redirect: 'The response to the app, at its redirect URI',
  // The app learns of an invalid parameter by the redirect, or the person by the page.
  handlesViolations: true,
  openQuery: true,
  ignoresEmpty: true,
} as const

type PageContext = Context<'public'>

/** Sends the browser to an app. */
const redirectTo = (location: string) => replyWith('', { seeOther: true, location })

const renderNotice = (view: PageView, text: PageText) =>
  renderPage(view, 'authorizeApp', markup`<p role="alert">${translate(view.language, text)}</p>`)

async function showLogin(received: ReceivedRequest, context: PageContext, failed?: FailedLogin) {
  const { parameters } = received
  const view = await createPageView(parameters.lang, context)
  const result = await checkAuthorizationRequest(received, context)
  if (!result) return renderNotice(view, 'authorizeUnknown')
  if ('redirect' in result) return redirectTo(result.redirect)
  return renderLogin(view, result.app, parameters, failed)
}

/**
 * The authorization endpoint. A person logs in each time, and no cookie remembers it: so no other site can make the browser
 * decide.
 */
export const authorizationPages = [
  defineOperation({
    ...common,
    id: 'showAuthorization',
    method: 'get',
    path: SMART_PATHS.authorize,
    summary: 'Get the page on which a person decides whether an app gets access',
    query: authorizationFields,
    handle: ({ query, violations = [] }, context) => showLogin({ parameters: query, violations }, context),
  }),
  defineOperation({
    ...common,
    id: 'requestAuthorization',
    method: 'post',
    path: SMART_PATHS.authorize,
    summary: 'Get the same page, with the parameters in a form',
    body: formBody(RequestForm),
    handle: ({ body, violations = [] }, context) => showLogin({ parameters: body, violations }, context),
  }),
  defineOperation({
    ...common,
    id: 'logInForAuthorization',
    method: 'post',
    path: SMART_PATHS.login,
    summary: 'Log in on the page, and get the scopes that the app requests',
    body: formBody(LoginForm),
    guardedAccount: ({ body }) => body.email,
    countedAs: 'loginWithPassword',
    handle: async ({ body: { email = '', password = '', ...parameters }, violations = [] }, context) => {
      const received = { parameters, violations }
      const result = await checkAuthorizationRequest(received, context)
      if (!result || 'redirect' in result) return showLogin(received, context)
      const login = await context.logins.logInForApp(email, password, result.app.name).catch(toLoginFailure)
      if (login === undefined) return showLogin(received, context, { email })
      return showLaunched(login, result, parameters, context)
    },
  }),
  defineOperation({
    ...common,
    id: 'decideAuthorization',
    method: 'post',
    path: SMART_PATHS.decision,
    summary: 'Decide whether the app gets access',
    body: formBody(DecisionForm),
    handle: async ({ body: { request: secret = '', decision, patient, lang } }, context) => {
      const { appAuthorizations, apps, sessions, publicUrl } = context
      const request = await appAuthorizations.take(secret)
      const app = request && (await apps.find(request.appId))
      // An administrator may have removed the app or the URL meanwhile.
      if (!request || !app || !hasRedirectUri(app, request.redirectUri))
        return renderNotice(await createPageView(lang, context), 'authorizeExpired')
      const { redirectUri, state, patient: patientId = patient } = request
      const respond = (parameters: Readonly<Record<string, string>>) =>
        redirectTo(responseUrl(redirectUri, publicUrl, { ...parameters, state }))
      const authorizationCode =
        decision === 'admit' ? await grantAccess(app, request, patientId, context) : undefined
      if (authorizationCode !== undefined) return respond({ code: authorizationCode })
      await sessions.revoke(request.sid)
      return respond({ error: 'access_denied' })
    },
  }),
]

/** @returns the code, or undefined if the person cannot open the chosen EHR, or their login has ended */
async function grantAccess(
  app: App,
  request: AppRequest & AppRequestLogin,
  patient: string | undefined,
  { appGrants, ehrs, requestId }: PageContext,
): Promise<string | undefined> {
  if (!needsPatient(request.scopes)) return appGrants.grant(request, undefined)
  const caller = await appGrants.callerOf(request.mvUid, app, requestId)
  if (patient === undefined || !(await ehrs.isReadable(caller, patient))) return undefined
  return appGrants.grant(request, patient)
}

/** Shows the request of an app, for the patient of its launch if it has the scope. */
async function showLaunched(
  login: AppRequestLogin,
  { app, request }: { app: App; request: AppRequest },
  { launch = '', lang }: AuthorizationParameters,
  context: PageContext,
) {
  const { appAuthorizations, publicUrl } = context
  if (!request.scopes.includes('launch')) return showRequest(login, { app, request }, lang, context)
  const patient = await appAuthorizations.takeLaunch(launch, { mvUid: login.mvUid, appId: app.id })
  if (patient !== undefined)
    return showRequest(login, { app, request: { ...request, patient } }, lang, context)
  const error_description = 'The launch is unknown, was used, has expired, or is that of another user'
  const { redirectUri, state } = request
  return redirectTo(
    responseUrl(redirectUri, publicUrl, { error: 'invalid_request', error_description, state }),
  )
}

async function showRequest(
  login: AppRequestLogin,
  { app, request }: { app: App; request: AppRequest },
  lang: string | undefined,
  context: PageContext,
) {
  const caller = await context.appGrants.callerOf(login.mvUid, app, context.requestId)
  const { language, terms, appUrl, profiles } = context
  const view = await createPageView(lang, { language, terms, appUrl, profiles, caller })
  const patients = needsPatient(request.scopes) ? await listPatients(caller, request.patient, context) : []
  const secret = await context.appAuthorizations.open(login, request)
  return renderRequest(view, app, { request, secret, patients })
}

/**
 * The patient of the launch, or all whom the user may open, the own EHR first; undefined if there are too many to choose
 * from.
 */
const listPatients = (
  caller: Caller,
  patientId: string | undefined,
  { fhir }: PageContext,
): Promise<PatientChoice[] | undefined> =>
  fhir.search(caller, 'Patient', { _count: '100', ...(patientId !== undefined && { _id: patientId }) }).then(
    ({ entry = [] }) =>
      (entry as { resource: FhirResource }[]).map(({ resource }) => toChoice(caller, resource)),
    (error: unknown) => {
      if (error instanceof ServiceError && error.error === 'InvalidInput') return undefined
      throw error
    },
  )

interface PatientChoice {
  id: string
  name: string | undefined
  isSelf: boolean
}

function toChoice({ userId }: Caller, { id, name, identifier }: FhirResource): PatientChoice {
  const [human] = (name ?? []) as { text?: string }[]
  const ids = (identifier ?? []) as { value: string }[]
  return { id: String(id), name: human?.text, isSelf: ids.some(({ value }) => value === userId) }
}

const renderHiddenInput = (name: string, value: string) =>
  markup`<input type="hidden" name="${name}" value="${value}">`

function renderLogin(
  view: PageView,
  app: App,
  parameters: AuthorizationParameters,
  failed: FailedLogin | undefined,
) {
  const names = Object.keys(authorizationFields) as (keyof AuthorizationParameters)[]
  const hiddenFields = names.flatMap((name) => {
    const value = name === 'lang' ? view.language : parameters[name]
    return value === undefined ? [] : [renderHiddenInput(name, value)]
  })
  return renderPage(
    { ...view, formsLeadToApp: true },
    'authorizeApp',
    markup`<p>${translate(view.language, 'authorizeLogin', { app: app.name })}</p>${renderLoginFailure(view, failed)}
<form method="post" action="login">${hiddenFields}${renderLoginFields(view, failed)}</form>`,
  )
}

interface OpenRequest {
  request: AppRequest
  secret: string
  patients: readonly PatientChoice[] | undefined
}

const hostOf = ({ protocol, host }: URL): string => host || protocol

/** Says who asks, for what, about whom and for how long. */
function renderRequest(view: PageView, app: App, open: OpenRequest) {
  const { language } = view
  const { scopes, redirectUri } = open.request
  const say = (text: PageText) =>
    translate(language, text, { app: app.name, host: hostOf(new URL(redirectUri)) })
  const rights = describeScopes(scopes, language).map(
    ([right, data]) => markup`<tr><th scope="row">${say(right)}</th><td>${data}</td></tr>`,
  )
  const canGrant = !needsPatient(scopes) || open.patients?.length !== 0
  return renderPage(
    { ...view, formsLeadToApp: true },
    'authorizeApp',
    markup`<p>${say('authorizeAsks')}</p>
<h2>${say('authorizeMay')}</h2><table><tbody>${rights}</tbody></table>
<h2>${say('authorizeHowLong')}</h2><p>${say(durationText(scopes))} ${say('authorizeEnd')}</p>
<h2 id="whose">${say('authorizeWhose')}</h2>
${resourceScopesOf(scopes).length > 0 && reachesEverybody(scopes) ? markup`<p>${say('authorizeWhoseAll')}</p>` : ''}
<form method="post" action="decision">${renderHiddenInput('request', open.secret)}${renderHiddenInput('lang', language)}
${needsPatient(scopes) ? renderPatients(view, open.patients) : ''}
${canGrant ? markup`<button name="decision" value="admit">${say('authorizeAllow')}</button>` : ''}
<button name="decision" value="refuse" class="second" formnovalidate>${say('authorizeRefuse')}</button></form>`,
  )
}

function renderPatients({ language }: PageView, patients: readonly PatientChoice[] | undefined) {
  const say = (text: PageText, values?: Record<string, string>) => translate(language, text, values)
  if (patients === undefined)
    return markup`<label>${say('authorizePatientId')} <input type="text" name="patient" required></label>`
  if (patients.length === 0) return markup`<p role="alert">${say('authorizeNoPatient')}</p>`
  const choices = patients.map(({ id, name, isSelf }) => {
    const record = say('authorizeRecord', { id })
    const label = isSelf ? say('authorizeSelf') : (name ?? record)
    const isOnly = patients.length === 1 ? markup` checked` : ''
    return markup`<label><input type="radio" name="patient" value="${id}" required${isOnly}> ${label}${patients.length > 1 && label !== record ? ` (${id})` : ''}</label>`
  })
  return markup`<div role="radiogroup" aria-labelledby="whose">${choices}</div>`
}
