/** Renders the mails and pages of the compiled service, to measure what people read. */
import { operationTable } from '../dist/path-api/operation-table.js'
import { htmlBody } from '../dist/path-api/pages/page.js'
import { ServiceError } from '../dist/schemas/errors.js'
import { mailTemplates, serviceNameIn } from '../dist/server/mail/mail-templates.js'
import { renderMail } from '../dist/server/mail/render-mail.js'

const LANGUAGES = ['en', 'nl']
const ADDRESS = 'ann@example.org'

const MAIL_VALUES = {
  link: 'https://example.org/link',
  message: 'Welcome to our clinic.',
  newEmail: ADDRESS,
  issuer: 'https://accounts.google.com',
  contact: ADDRESS,
  appUrl: 'https://app.example.org',
}

const renderMails = (language) =>
  Object.keys(mailTemplates).map((name) => {
    const { subject, text } = renderMail(name, language, { ...MAIL_VALUES, appName: serviceNameIn(language) })
    return { name: `mail ${name} (${language})`, text: `${subject}\n\n${text}`, language }
  })

const ENTRY = { userId: 'n4Fq2LxT0a', type: 'CarePlan', outcome: 'done', application: 'path family' }
const ENTRIES = ['create', 'read', 'query', 'update', 'delete'].map((action) => ({
  ...ENTRY,
  action,
  ids: [],
  at: new Date('2026-03-01T08:30:00Z'),
}))
const EHRS = ['n4Fq2LxT0a', 'k2Wd8RmQ1b'].map((id) => ({ id, createdAt: '2026-03-01T08:30:00Z' }))

const REFUSAL = new ServiceError('RuleViolated', {
  violations: ['password-too-short', 'password-contains-address', 'terms-not-accepted'].map((code) => ({
    path: '',
    code,
    message: '',
  })),
})

const SCOPES = ['openid', 'launch/patient', 'patient/*.rs', 'user/Observation.cruds', 'offline_access']
const REDIRECT_URI = 'https://app.example.org/callback'
const APP = { id: 'app-q3WrTy78Lp', name: 'Diary', scopes: SCOPES, redirectUris: [REDIRECT_URI] }
const APP_REQUEST = {
  response_type: 'code',
  client_id: APP.id,
  redirect_uri: REDIRECT_URI,
  scope: SCOPES.join(' '),
  aud: 'https://example.org/fhir/R4',
  code_challenge: 'a'.repeat(43),
  code_challenge_method: 'S256',
}

/** The services that the pages for apps ask. */
const appServices = (isValid) => ({
  apps: { find: async () => (isValid ? APP : undefined) },
  appAuthorizations: { open: async () => 'secret', take: async () => undefined },
  appGrants: { callerOf: async (userId) => ({ userId }) },
  fhir: { search: async () => ({ entry: EHRS.map(({ id }) => ({ resource: { id } })) }) },
  logins: {
    logInForApp: async () => ({ mvUid: 'k2Wd8RmQ1b', sid: 's8RtUv12Qx' }),
    logInWithPassword: async () => undefined,
  },
})

/** The services that a page calls. @param submit handles a form */
const createContext = (isValid, caller, submit = async () => {}) => ({
  caller,
  publicUrl: 'https://example.org',
  open: false,
  address: '127.0.0.1',
  terms: { version: '1', url: 'https://example.org/terms' },
  appUrl: MAIL_VALUES.appUrl,
  ...appServices(isValid),
  registrations: {
    findLink: async () => ({ isValid, needsPassword: true }),
    activate: submit,
    resend: () => {},
  },
  passwords: { isValid: async () => isValid, chooseByToken: submit, requestReset: () => {} },
  administrators: { isValidOffer: async () => isValid },
  ehrs: {
    listAboutCaller: async () => EHRS,
    listAccesses: async () => ({ items: ENTRIES, next: null }),
  },
  profiles: {
    persons: {
      findLanguage: async () => undefined,
      findTimeZone: async () => 'Europe/Amsterdam',
      namesOf: async () => new Map(),
    },
  },
})

const SITUATIONS = {
  '': createContext(true, undefined),
  ', void link': createContext(false, undefined),
  ', refused': createContext(true, undefined, () => Promise.reject(REFUSAL)),
  ', logged in': createContext(true, { userId: 'k2Wd8RmQ1b' }),
}

const BLOCK_END = /<\/(h\d|p|label|li|td|th|button|a)>|<br>/g
const ENTITY = /&#(\d+);/g

/** The sentences of a page. Headings, labels and buttons are single words, which no formula can judge. */
const textOf = (html) =>
  html
    .replace(/<(head|script)[\s\S]*?<\/\1>/g, '')
    .replace(BLOCK_END, '\n\n')
    .replace(/<[^>]*>/g, '')
    .replace(ENTITY, (_, code) => String.fromCharCode(code))
    .split('\n\n')
    .filter((block) => /[.?!:]$/.test(block.trim()))
    .join('\n\n')

/** @returns each page in every situation in which it differs */
async function renderPages(language) {
  const input = {
    token: 'token',
    ...APP_REQUEST,
    lang: language,
    link: 'password',
    terms: true,
    email: ADDRESS,
  }
  const texts = new Map()
  for (const { id, handle } of operationTable.filter(({ reply }) => reply[1] === htmlBody))
    for (const [situation, context] of Object.entries(SITUATIONS)) {
      const { body } = await handle({ params: {}, query: input, body: input }, { ...context, language })
      const text = textOf(body)
      if (!texts.has(text)) texts.set(text, { name: `page ${id}${situation} (${language})`, text, language })
    }
  return [...texts.values()]
}

export async function renderTexts() {
  const texts = LANGUAGES.map(async (language) => [
    ...renderMails(language),
    ...(await renderPages(language)),
  ])
  return (await Promise.all(texts)).flat()
}
