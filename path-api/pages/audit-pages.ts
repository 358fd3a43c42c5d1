import { Type } from '@sinclair/typebox'
import { kinds } from '../../records/kinds.ts'
import { type AuditEntry, scopeIn } from '../../records/store/audit/trail.ts'
import type { Language } from '../../schemas/code-lists.ts'
import { id } from '../../schemas/common.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { answer } from '../answer/answer.ts'
import { form } from '../answer/media.ts'
import { operation } from '../operation/operation.ts'
import { html, languageOf, markup, page, words, wordsFor } from './page.ts'

const about = { source: 'EHR data: every access is recorded, and the subject reads it', extra: true } as const

const lang = Type.Optional(
  Type.String({ maxLength: 35, description: 'Language of the page', examples: ['nl'] }),
)
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
  `audit?${new URLSearchParams({ lang: languageOf(lang), ...more })}`

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
    handle: async (
      { query: { lang, ehrId, own = false, cursor, failed = false } },
      { caller, ehrs, profiles },
    ) => {
      const language = languageOf(lang)
      if (caller === undefined) return loginPage(language, failed)
      const all = await ehrs.aboutThemselves(caller)
      const chosen = (all.find(({ id }) => id === ehrId) ?? all[0])?.id
      if (chosen === undefined)
        return page(language, 'accesses', markup`<p>${words(language, 'noRecord')}</p>`, leaveForm(language))
      const found = await ehrs.accesses(caller, chosen, { limit: own ? LINES : LOOKED_AT, cursor })
      const items = own ? found.items : found.items.filter(({ userId }) => userId !== caller.userId)
      const names = await profiles.persons.namesOf(items.map(({ userId }) => userId))
      names.set(caller.userId, words(language, 'you'))
      return accessPage(language, { items, next: found.next, names, own, ehrId: chosen, all })
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

const hidden = (language: Language) => markup`<input type="hidden" name="lang" value="${language}">`

const leaveForm = (language: Language) =>
  markup`<form method="post" action="audit-leave">${hidden(language)}<button>${words(language, 'logOut')}</button></form>`

function loginPage(language: Language, failed: boolean) {
  const fault = failed ? markup`<p role="alert">${words(language, 'notLoggedIn')}</p>` : ''
  return page(
    language,
    'accesses',
    markup`<p>${words(language, 'accessesHelp')}</p>${fault}
<form method="post" action="audit">${hidden(language)}
<label>${words(language, 'email')}<input type="email" name="email" autocomplete="username" required></label>
<label>${words(language, 'password')}
<input type="password" name="password" autocomplete="current-password" required></label>
<button>${words(language, 'logIn')}</button></form>`,
  )
}

interface Accesses {
  items: AuditEntry[]
  next: string | null
  names: Map<string, string>
  own: boolean
  ehrId: string
  /** All that are about the patient, their own first. */
  all: readonly { id: string; createdAt: string }[]
}

/** What a kind of record is called; a name that no kind has stands for itself. */
const kindWords = (collection: string, language: Language): string =>
  kinds.find((kind) => kind.collection === collection)?.words[language] ?? collection

/** Which record is shown, where there are several, and the way to the others. */
function records(language: Language, all: Accesses['all'], openId: string) {
  if (all.length < 2) return ''
  const links = all.map(({ id, createdAt }) => {
    const label = `${words(language, 'recordSince')} ${createdAt.slice(0, 10)} (${id})`
    const href = `audit?${new URLSearchParams({ lang: language, ehrId: id })}`
    return id === openId
      ? markup`<p><strong aria-current="page">${label}</strong></p>`
      : markup`<p><a href="${href}">${label}</a></p>`
  })
  return markup`<nav><p>${words(language, 'records')}</p>${links}</nav>`
}

function accessPage(language: Language, { items, next, names, own, ehrId, all }: Accesses) {
  const say = (name: string) => wordsFor(language, name)
  const sayAll = (...names: string[]) => names.map(say).filter(Boolean).join(' ')
  const link = (more: Record<string, string>) =>
    `audit?${new URLSearchParams({ lang: language, ehrId, ...more })}`
  const lines = items.map(
    ({ at, userId, action, type, outcome, application, ...about }) => markup`<tr>
<td><time datetime="${at.toISOString()}">${at.toISOString().slice(0, 16).replace('T', ' ')}</time></td>
<th scope="row">${names.get(userId) ?? userId}</th>
<td>${kindWords(type, language)}: ${sayAll(action, scopeIn(ehrId, about), outcome)}</td><td>${application}</td></tr>`,
  )
  const heads = ['when', 'who', 'what', 'through'].map((name) => markup`<th scope="col">${say(name)}</th>`)
  const older =
    next === null
      ? ''
      : markup`<a rel="next" href="${link({ own: String(own), cursor: next })}">${say('older')}</a>`
  return page(
    language,
    'accesses',
    markup`${records(language, all, ehrId)}<p>${say(own ? 'all' : 'others')}
<a href="${link({ own: String(!own) })}">${say(own ? 'showOthers' : 'showAll')}</a></p>
${items.length === 0 ? markup`<p>${say('nobody')}</p>` : markup`<table><thead><tr>${heads}</tr></thead><tbody>${lines}</tbody></table>`}
<p>${older}</p>`,
    leaveForm(language),
  )
}
