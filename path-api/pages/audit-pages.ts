import { Type } from '@sinclair/typebox'
import { kinds } from '../../records/kinds.ts'
import { type AuditEntry, scopeIn } from '../../records/store/audit/trail.ts'
import type { Language } from '../../schemas/code-lists.ts'
import { id } from '../../schemas/common.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { answer } from '../answer/answer.ts'
import { form } from '../answer/media.ts'
import { operation } from '../operation/operation.ts'
import {
  html,
  lang,
  markup,
  moment,
  type PageText,
  page,
  type View,
  viewOf,
  words,
  wordsFor,
} from './page.ts'

const about = { source: 'EHR data: every access is recorded, and the subject reads it', extra: true } as const

const flag = (description: string) => Type.Optional(Type.Boolean({ description, examples: [true] }))

const Login = Type.Object(
  {
    email: Type.String({ maxLength: 320, description: 'E-mail address', examples: ['ann@example.org'] }),
    password: Type.String({ maxLength: 1000, description: 'Password' }),
    lang,
  },
  { additionalProperties: false, description: 'The form of the page' },
)
const Leave = Type.Object({ lang }, { additionalProperties: false, description: 'The form of the logout' })

/** Goes with requests from our own pages only, and to no script. */
const cookie = (token: string, seconds: number) => ({
  'set-cookie': `authToken=${token}; Path=/; Max-Age=${seconds}; HttpOnly; Secure; SameSite=Strict`,
})

/** The address of the page, seen from where its forms lead to. */
const backTo = (lang: string | undefined, more: Record<string, string> = {}) =>
  `audit?${new URLSearchParams({ ...(lang && { lang }), ...more })}`

/** Lines on a page. */
const LINES = 100
/** Most of them are the patient's own, as a rule. */
const LOOKED_AT = 1000

/** Shows patients without an app who looked at their record: works without scripts. */
export const auditPages = [
  operation({
    ...about,
    id: 'showAccesses',
    method: 'get',
    path: '/ehr/audit',
    summary: 'Show the page on which patients see who viewed and changed their EHR',
    description: 'Asks for a login first, unless the request carries a token.',
    query: {
      lang,
      ehrId: Type.Optional(
        id('one of the EHRs about the caller; by default the one that came with the account'),
      ),
      own: flag('Whether to include what the caller did'),
      cursor: Type.Optional(Type.String({ maxLength: 1000, description: 'Where to go on' })),
      failed: flag('Whether a login has failed'),
    },
    access: 'optional',
    reply: [200, html],
    handle: async ({ query: { lang, ehrId, own = false, cursor, failed = false } }, context) => {
      const { caller, ehrs, profiles } = context
      const view = await viewOf(lang, context)
      const { language } = view
      if (caller === undefined) return loginPage(view, failed)
      const all = await ehrs.aboutThemselves(caller)
      const chosen = (all.find(({ id }) => id === ehrId) ?? all[0])?.id
      if (chosen === undefined)
        return page(
          view,
          'accesses',
          leaveForm(lang, language),
          markup`<p>${words(language, 'noRecord')}</p>`,
        )
      const found = await ehrs.accesses(caller, chosen, { limit: own ? LINES : LOOKED_AT, cursor })
      const items = own ? found.items : found.items.filter(({ userId }) => userId !== caller.userId)
      const names = await profiles.persons.namesOf(items.map(({ userId }) => userId))
      names.set(caller.userId, words(language, 'you'))
      const { next } = found
      return accessPage(view, { items, next, cursor, names, own, ehrId: chosen, all, lang })
    },
  }),
  operation({
    ...about,
    id: 'logInForAccesses',
    method: 'post',
    path: '/ehr/audit',
    summary: 'Log in on that page',
    body: form(Login),
    access: 'public',
    guarded: ({ body }) => body.email,
    reply: [303],
    handle: async ({ body: { email, password, lang } }, { logins, userAgent }) => {
      const grant = await logins.withPassword(email, password, userAgent).catch(refusal)
      return grant === undefined
        ? answer(undefined, { location: backTo(lang, { failed: 'true' }) })
        : answer(undefined, { location: backTo(lang), headers: cookie(grant.authToken, grant.expiresIn) })
    },
  }),
  operation({
    ...about,
    id: 'leaveAccesses',
    method: 'post',
    path: '/ehr/audit-leave',
    summary: 'Log out on that page',
    body: form(Leave),
    access: 'optional',
    reply: [303],
    handle: async ({ body: { lang } }, { principal, sessions }) => {
      if (principal) await sessions.end(principal.mvUid, principal.sessionId)
      return answer(undefined, { location: backTo(lang), headers: cookie('', 0) })
    },
  }),
]

/** @throws what is not about the address and the password */
function refusal(error: unknown): undefined {
  if (error instanceof ServiceError && error.status < 500 && error.error !== 'TooManyRequests') return
  throw error
}

/** Keeps the language that the address names. */
const hidden = (lang: string | undefined) =>
  lang === undefined ? '' : markup`<input type="hidden" name="lang" value="${lang}">`

const leaveForm = (lang: string | undefined, language: Language) =>
  markup`<form class="top" method="post" action="audit-leave">${hidden(lang)}<button>${words(language, 'logOut')}</button></form>`

function loginPage(view: View, failed: boolean) {
  const say = (text: PageText) => words(view.language, text)
  const fault = failed ? markup`<p role="alert">${say('notLoggedIn')}</p>` : ''
  return page(
    view,
    'accesses',
    markup`<p>${say('accessesHelp')}</p>${fault}
<form method="post" action="audit">${hidden(view.language)}
<label>${say('email')}<input type="email" name="email" autocomplete="username" required></label>
<label>${say('password')}
<input type="password" name="password" autocomplete="current-password" required></label>
<button>${say('logIn')}</button></form>`,
  )
}

interface Accesses {
  items: AuditEntry[]
  /** Where this page begins, and where the next one does. */
  cursor: string | undefined
  next: string | null
  names: Map<string, string>
  own: boolean
  ehrId: string
  /** All that are about the patient, their own first. */
  all: readonly { id: string; createdAt: string }[]
  /** The language that the address names. */
  lang: string | undefined
}

/** What a kind of record is called; a name that no kind has stands for itself. */
const kindWords = (collection: string, language: Language): string =>
  kinds.find((kind) => kind.collection === collection)?.words[language] ?? wordsFor(language, collection)

/** A person by name; else what can be said of who it was. */
function whoWas(userId: string, names: Map<string, string>, language: Language): string {
  const [kind = '', ...name] = userId.split(' ')
  const known = names.get(userId)
  if (known !== undefined) return known
  if (kind === 'operator') return `${words(language, 'operator')} ${name.join(' ')}`.trim()
  if (userId === 'service' || userId === 'nobody') return words(language, userId)
  return `${words(language, 'unnamed')} (${userId})`
}

/** Which record is shown, where there are several, and the way to the others. */
function records(language: Language, { all, ehrId: openId, lang }: Accesses) {
  if (all.length < 2) return ''
  const links = all.map(({ id, createdAt }) => {
    const label = `${words(language, 'recordSince')} ${createdAt.slice(0, 10)} (${id})`
    return id === openId
      ? markup`<p><strong aria-current="page">${label}</strong></p>`
      : markup`<p><a href="${backTo(lang, { ehrId: id })}">${label}</a></p>`
  })
  return markup`<nav><p>${words(language, 'records')}</p>${links}</nav>`
}

interface Line {
  who: string
  what: string
  through: string
  /** The latest access, and the earliest one that is alike. */
  last: Date
  first: Date
  times: number
}

/** Accesses that say the same are one line, where the latest of them is. */
function linesOf(language: Language, { items, names, ehrId }: Accesses): Line[] {
  const lines = new Map<string, Line>()
  for (const { at, userId, action, type, outcome, application, ...about } of items) {
    const did = [action, scopeIn(ehrId, about), outcome].map((name) => wordsFor(language, name))
    const line = {
      who: whoWas(userId, names, language),
      what: `${kindWords(type, language)}: ${did.filter(Boolean).join(' ')}`,
      through: wordsFor(language, application),
    }
    const key = JSON.stringify(line)
    const alike = lines.get(key)
    if (alike) Object.assign(alike, { first: at, times: alike.times + 1 })
    else lines.set(key, { ...line, last: at, first: at, times: 1 })
  }
  return [...lines.values()]
}

function row(view: View, { who, what, through, last, first, times }: Line) {
  const say = (text: PageText) => words(view.language, text)
  const often =
    times === 1
      ? ''
      : markup` <span>(${String(times)} ${say('times')}, ${say('since')} ${moment(first, view)})</span>`
  return markup`<tr><td data-head="${say('when')}">${moment(last, view)}</td>
<th scope="row" data-head="${say('who')}">${who}</th>
<td data-head="${say('what')}">${what}${often}</td><td data-head="${say('through')}">${through}</td></tr>`
}

function accessPage(view: View, accesses: Accesses) {
  const { language } = view
  const { items, next, cursor, own, ehrId, lang } = accesses
  const say = (name: PageText) => words(language, name)
  const link = (text: PageText, more: Record<string, string>, rel = '') =>
    markup`<a rel="${rel}" href="${backTo(lang, { ehrId, ...more })}">${say(text)}</a>`
  const place: Record<string, string> = cursor === undefined ? {} : { cursor }
  const heads = (['when', 'who', 'what', 'through'] as const).map(
    (name) => markup`<th scope="col">${say(name)}</th>`,
  )
  const rows = linesOf(language, accesses).map((line) => row(view, line))
  return page(
    view,
    'accesses',
    leaveForm(lang, language),
    markup`${records(language, accesses)}<p>${say(own ? 'all' : 'others')}
${link(own ? 'showOthers' : 'showAll', { own: String(!own), ...place })}</p>
${items.length === 0 ? markup`<p>${say('noAccesses')}</p>` : markup`<table class="cards"><thead><tr>${heads}</tr></thead><tbody>${rows}</tbody></table>`}
<p>${cursor === undefined ? '' : link('newest', { own: String(own) }, 'first')}
${next === null ? '' : link('older', { own: String(own), cursor: next }, 'next')}</p>`,
  )
}
