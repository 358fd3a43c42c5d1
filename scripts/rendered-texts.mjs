/** Renders the mails and pages of the compiled service, to measure what people read. */
import { operationTable } from '../dist/path-api/operation-table.js'
import { htmlBody } from '../dist/path-api/pages/page.js'
import { ServiceError } from '../dist/schemas/errors.js'
import { mailTemplates } from '../dist/server/mail/mail-templates.js'
import { renderMail } from '../dist/server/mail/render-mail.js'

const LANGUAGE = 'en'
const ADDRESS = 'ann@example.org'

const MAIL_VALUES = {
  appName: 'Health Record Service',
  link: 'https://example.org/link',
  message: 'Welcome to our clinic.',
  newEmail: ADDRESS,
  issuer: 'https://accounts.google.com',
  contact: ADDRESS,
  appUrl: 'https://app.example.org',
}

const renderMails = () =>
  Object.keys(mailTemplates).map((name) => {
    const { subject, text } = renderMail(name, LANGUAGE, MAIL_VALUES)
    return { name: `mail ${name}`, text: `${subject}\n\n${text}` }
  })

const ENTRY = { userId: 'n4Fq2LxT0a', type: 'CarePlan', outcome: 'done', application: 'path family' }
const ENTRIES = ['create', 'read', 'query', 'update', 'delete'].map((action) => ({
  ...{ ...ENTRY, action, ids: [], at: new Date('2026-03-01T08:30:00Z') },
}))
const EHRS = ['n4Fq2LxT0a', 'k2Wd8RmQ1b'].map((id) => ({ id, createdAt: '2026-03-01T08:30:00Z' }))

const REFUSAL = new ServiceError('RuleViolated', {
  violations: ['password-too-short', 'password-contains-address', 'terms-not-accepted'].map((code) => ({
    code,
  })),
})

/** What a page asks of the services. @param submit handles a form */
const createContext = (isValid, caller, submit = async () => {}) => ({
  ...{ language: LANGUAGE, caller, publicUrl: 'https://example.org', open: false, address: '127.0.0.1' },
  terms: { version: '1', url: 'https://example.org/terms' },
  appUrl: MAIL_VALUES.appUrl,
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

const textOf = (html) =>
  html
    .replace(/<(head|script)[\s\S]*?<\/\1>/g, '')
    .replace(BLOCK_END, '\n\n')
    .replace(/<[^>]*>/g, '')
    .replace(ENTITY, (_, code) => String.fromCharCode(code))

/** @returns each page in every situation in which it differs */
async function renderPages() {
  const input = {
    token: 'token',
    lang: LANGUAGE,
    link: 'password',
    terms: true,
    failed: true,
    email: ADDRESS,
  }
  const texts = new Map()
  for (const { id, handle } of operationTable.filter(({ reply }) => reply[1] === htmlBody))
    for (const [situation, context] of Object.entries(SITUATIONS)) {
      const { body } = await handle({ params: {}, query: input, body: input }, context)
      const text = textOf(body)
      if (!texts.has(text)) texts.set(text, { name: `page ${id}${situation}`, text })
    }
  return [...texts.values()]
}

export const renderTexts = async () => [...renderMails(), ...(await renderPages())]
