import { Type } from '@sinclair/typebox'
import { kinds } from '../../records/kinds.ts'
import type { AuditEntry } from '../../records/store/audit/audit-log.ts'
import type { InterfaceLanguage } from '../../schemas/code-lists.ts'
import { idField } from '../../schemas/common.ts'
import { accessScopeOf } from '../../schemas/ehrs/access-entry.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { defineOperation } from '../operation/operation.ts'
import { formBody } from '../reply/body-media.ts'
import { replyWith, sessionCookie } from '../reply/reply.ts'
import { type FailedLogin, renderLoginFailure, renderLoginFields, toLoginFailure } from './login-form.ts'
import {
  createPageView,
  htmlBody,
  languageParameter,
  markup,
  type PageText,
  type PageView,
  renderMoment,
  renderPage,
  translate,
  translateName,
} from './page.ts'

const PAGE_DEFAULTS = {
  source: 'EHR data: every access is recorded, and the subject reads it',
  extra: true,
} as const

const createFlag = (description: string) => Type.Optional(Type.Boolean({ description, examples: [true] }))

const LoginForm = Type.Object(
  {
    email: Type.String({ maxLength: 320, description: 'E-mail address', examples: ['ann@example.org'] }),
    password: Type.String({ maxLength: 1000, description: 'Password' }),
    lang: languageParameter,
  },
  { additionalProperties: false, description: 'Form of the page' },
)
const LogoutForm = Type.Object(
  { lang: languageParameter },
  { additionalProperties: false, description: 'Form of the logout' },
)

/** URL of the audit page, relative to the targets of its forms. */
const auditPageUrl = (lang: string | undefined, more: Record<string, string> = {}) =>
  `audit?${new URLSearchParams({ ...(lang && { lang }), ...more })}`

const createFormView = async (...options: Parameters<typeof createPageView>) => ({
  ...(await createPageView(...options)),
  formsSetCookie: true,
})

const LINES_PER_PAGE = 100
/** Entries to read for a page without the patient's own accesses, which usually are most of them. */
const MAX_ENTRIES_READ = 1000

/** Pages on which patients see the accesses to their record, without an app and without scripts. */
export const auditPages = [
  defineOperation({
    ...PAGE_DEFAULTS,
    id: 'showAccesses',
    method: 'get',
    path: '/ehr/audit',
    summary: 'Get the page that tells patients who viewed and changed their EHR',
    description: 'Asks for a login unless the request contains a token.',
    query: {
      lang: languageParameter,
      ehrId: Type.Optional(idField('an EHR about the caller; default: the EHR that came with the account')),
      own: createFlag('True to include accesses by the caller'),
      cursor: Type.Optional(Type.String({ maxLength: 1000, description: 'Cursor of the next page' })),
    },
    access: 'optional',
    reply: [200, htmlBody],
    errors: ['NotFound'],
    handle: async ({ query: { lang, ehrId, own = false, cursor } }, context) => {
      const { caller, ehrs, profiles } = context
      const view = await createFormView(lang, context)
      const { language } = view
      if (caller === undefined) return renderLoginPage(view)
      const ownEhrs = await ehrs.listAboutCaller(caller)
      const selectedEhrId = (ehrId === undefined ? ownEhrs[0] : ownEhrs.find(({ id }) => id === ehrId))?.id
      if (ehrId !== undefined && selectedEhrId === undefined) throw new ServiceError('NotFound')
      if (selectedEhrId === undefined)
        return renderPage(
          view,
          'accesses',
          renderLogoutForm(lang, language),
          markup`<p>${translate(language, 'noRecord')}</p>`,
        )
      const accesses = await ehrs.listAccesses(caller, selectedEhrId, {
        limit: own ? LINES_PER_PAGE : MAX_ENTRIES_READ,
        cursor,
      })
      const items = own ? accesses.items : accesses.items.filter(({ userId }) => userId !== caller.userId)
      const names = await profiles.persons.namesOf(items.map(({ userId }) => userId))
      names.set(caller.userId, translate(language, 'you'))
      const { next } = accesses
      return renderAccessPage(view, {
        items,
        next,
        cursor,
        names,
        includesOwn: own,
        ehrId: selectedEhrId,
        ownEhrs,
        lang,
      })
    },
  }),
  defineOperation({
    ...PAGE_DEFAULTS,
    id: 'logInForAccesses',
    method: 'post',
    path: '/ehr/audit',
    summary: 'Log in on the audit page',
    description: 'After a wrong e-mail address or password, the reply is the form again.',
    body: formBody(LoginForm),
    access: 'public',
    guardedAccount: ({ body }) => body.email,
    countedAs: 'loginWithPassword',
    setsCookie: true,
    reply: [200, htmlBody],
    redirect: 'The audit page',
    handle: async ({ body: { email, password, lang } }, context) => {
      const { logins, userAgent, pathPrefix } = context
      const grant = await logins.logInWithPassword(email, password, userAgent).catch(toLoginFailure)
      if (grant === undefined) return renderLoginPage(await createFormView(lang, context), { email })
      return replyWith('', {
        seeOther: true,
        location: auditPageUrl(lang),
        headers: { 'set-cookie': sessionCookie(pathPrefix, grant.authToken, grant.expiresIn) },
      })
    },
  }),
  defineOperation({
    ...PAGE_DEFAULTS,
    id: 'leaveAccesses',
    method: 'post',
    path: '/ehr/audit-leave',
    summary: 'Log out on the audit page',
    body: formBody(LogoutForm),
    access: 'optional',
    setsCookie: true,
    reply: [303],
    handle: async ({ body: { lang } }, { principal, sessions, pathPrefix }) => {
      if (principal) await sessions.end(principal.mvUid, principal.sessionId)
      return replyWith(undefined, {
        location: auditPageUrl(lang),
        headers: { 'set-cookie': sessionCookie(pathPrefix, '', 0) },
      })
    },
  }),
]

/** Keeps the language of the URL in the form. */
const renderHiddenLanguage = (lang: string | undefined) =>
  lang === undefined ? '' : markup`<input type="hidden" name="lang" value="${lang}">`

const renderLogoutForm = (lang: string | undefined, language: InterfaceLanguage) =>
  markup`<form class="top" method="post" action="audit-leave">${renderHiddenLanguage(lang)}<button>${translate(language, 'logOut')}</button></form>`

const renderLoginPage = (view: PageView, failed?: FailedLogin) =>
  renderPage(
    view,
    'accesses',
    markup`<p>${translate(view.language, 'accessesHelp')}</p>${renderLoginFailure(view, failed)}
<form method="post" action="audit">${renderHiddenLanguage(view.language)}${renderLoginFields(view, failed)}</form>`,
  )

interface AccessList {
  items: AuditEntry[]
  /** Cursor of this page, and of the next one. */
  cursor: string | undefined
  next: string | null
  names: Map<string, string>
  includesOwn: boolean
  ehrId: string
  /** EHRs about the patient, the account EHR first. */
  ownEhrs: readonly { id: string; createdAt: string }[]
  /** Language named by the URL. */
  lang: string | undefined
}

/** Label of a kind of record; the collection name if there is none. */
const kindLabel = (collection: string, language: InterfaceLanguage): string =>
  kinds.find((kind) => kind.collection === collection)?.words[language] ?? translateName(language, collection)

/** Name of the person, or a description of an unnamed user. */
function personLabel(userId: string, names: Map<string, string>, language: InterfaceLanguage): string {
  const [kind = '', ...name] = userId.split(' ')
  const personName = names.get(userId)
  if (personName !== undefined) return personName
  if (kind === 'operator') return `${translate(language, 'operator')} ${name.join(' ')}`.trim()
  if (userId === 'service' || userId === 'nobody') return translate(language, userId)
  return translate(language, 'unnamed', { user: userId })
}

/** Shows which EHR is open and links to the others, if there are several. */
function renderEhrChooser(language: InterfaceLanguage, { ownEhrs, ehrId: openId, lang }: AccessList) {
  if (ownEhrs.length < 2) return ''
  const links = ownEhrs.map(({ id, createdAt }) => {
    const label = `${translate(language, 'recordSince')} ${createdAt.slice(0, 10)} (${id})`
    return id === openId
      ? markup`<p><strong aria-current="page">${label}</strong></p>`
      : markup`<p><a href="${auditPageUrl(lang, { ehrId: id })}">${label}</a></p>`
  })
  return markup`<nav><p>${translate(language, 'records')}</p>${links}</nav>`
}

interface AccessLine {
  who: string
  action: string
  through: string
  /** Latest and earliest access of the line. */
  last: Date
  first: Date
  times: number
}

/** Groups equal accesses into one line at the position of the latest. */
function groupIntoLines(language: InterfaceLanguage, { items, names, ehrId }: AccessList): AccessLine[] {
  const lines = new Map<string, AccessLine>()
  for (const { at, userId, onBehalfOf, action, type, outcome, application, ...location } of items) {
    const actionTexts = [
      capitalize(translateName(language, action, { kind: kindLabel(type, language) })),
      translateName(language, accessScopeOf(ehrId, location)),
      translateName(language, outcome),
    ]
    const line = {
      who: [personLabel(userId, names, language), onBehalfOf && translate(language, 'forYou')]
        .filter(Boolean)
        .join(', '),
      action: actionTexts.filter(Boolean).join(' '),
      through: translateName(language, application),
    }
    const key = JSON.stringify(line)
    const alike = lines.get(key)
    if (alike) Object.assign(alike, { first: at, times: alike.times + 1 })
    else lines.set(key, { ...line, last: at, first: at, times: 1 })
  }
  return [...lines.values()]
}

const capitalize = (text: string): string => text.replace(/^./u, (first) => first.toUpperCase())

function renderLine(view: PageView, { who, action, through, last, first, times }: AccessLine) {
  const say = (text: PageText) => translate(view.language, text)
  const count = times === 2 ? say('twice') : translate(view.language, 'times', { times: String(times) })
  const often = times === 1 ? '' : markup`, ${count} ${renderMoment(first, view, last)}`
  return markup`<tr><td data-head="${say('when')}">${renderMoment(last, view)}</td>
<th scope="row" data-head="${say('who')}">${who}</th>
<td data-head="${say('what')}">${action}${often}</td><td data-head="${say('through')}">${through}</td></tr>`
}

function renderAccessPage(view: PageView, accesses: AccessList) {
  const { language } = view
  const { items, next, cursor, includesOwn, ehrId, lang } = accesses
  const say = (name: PageText) => translate(language, name)
  const link = (text: PageText, more: Record<string, string>, rel = '') =>
    markup`<a rel="${rel}" href="${auditPageUrl(lang, { ehrId, ...more })}">${say(text)}</a>`
  const place: Record<string, string> = cursor === undefined ? {} : { cursor }
  const heads = (['when', 'who', 'what', 'through'] as const).map(
    (name) => markup`<th scope="col">${say(name)}</th>`,
  )
  const rows = groupIntoLines(language, accesses).map((line) => renderLine(view, line))
  return renderPage(
    view,
    'accesses',
    renderLogoutForm(lang, language),
    markup`${renderEhrChooser(language, accesses)}<p>${say(includesOwn ? 'all' : 'others')}
${link(includesOwn ? 'showOthers' : 'showAll', { own: String(!includesOwn), ...place })}</p>
${items.length === 0 ? markup`<p>${say(includesOwn ? 'noAccesses' : 'noOtherAccesses')}</p>` : markup`<table class="cards"><thead><tr>${heads}</tr></thead><tbody>${rows}</tbody></table>`}
<p>${cursor === undefined ? '' : link('newest', { own: String(includesOwn) }, 'first')}
${next === null ? '' : link('older', { own: String(includesOwn), cursor: next }, 'next')}</p>`,
  )
}
