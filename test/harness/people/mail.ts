import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import PostalMime, { type Email } from 'postal-mime'
import { config } from '../service/service.ts'
import { waitFor } from '../wait.ts'

/**
 * Opens the page of a mailed link, fills in the form with its token and submits it.
 * @returns the next page, or the first one if it has no such form
 */
export async function followLink(link: string, more: Record<string, string> = {}): Promise<string> {
  const page = await (await fetch(link)).text()
  return page.includes('name="token"') ? submitForm(page, link, more) : page
}

/** Submits the form of a page with its hidden fields. @returns the next page */
export async function submitForm(page: string, url: string, more: Record<string, string>): Promise<string> {
  const action = /<form[^>]*action="([^"]+)"/.exec(page)?.[1]
  const hidden = [...page.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)]
  const fields = Object.fromEntries(hidden.map(([, name = '', value = '']) => [name, value]))
  const body = new URLSearchParams({ ...fields, ...more })
  return (await fetch(new URL(action ?? '', url), { method: 'POST', body })).text()
}

/** The read mails of the outbox, by file; files never change. */
const OUTBOX = new Map<string, Buffer>()

/** The newest mail to an address, with its first link; waits until it exists. */
export async function waitForMail(address: string): Promise<LinkMail> {
  const raw = await waitFor(() => mailsTo(address)[0], `a mail to ${address}`)
  const mail = await PostalMime.parse(raw)
  return { ...mail, link: /https?:\/\/\S+/.exec(mail.text ?? '')?.[0] ?? '' }
}

/** The mails to an address, the newest first. */
export function mailsTo(address: string): Buffer[] {
  readOutbox()
  const mails = [...OUTBOX].filter(([, raw]) => raw.includes(address))
  return mails.sort(([a], [b]) => (a < b ? 1 : -1)).map(([, raw]) => raw)
}

function readOutbox(): void {
  const outbox = join(config.dataDir, 'outbox')
  if (!existsSync(outbox)) return
  for (const file of readdirSync(outbox))
    if (file.endsWith('.eml') && !OUTBOX.has(file)) OUTBOX.set(file, readFileSync(join(outbox, file)))
}

/** The token in a mailed link. */
export const tokenInLink = ({ link }: { link: string }): string =>
  new URL(link).searchParams.get('token') ?? ''

/** The newest mail to an address that meets a condition; waits until it exists. */
export const waitForMatchingMail = (address: string, fits: (mail: LinkMail) => boolean): Promise<LinkMail> =>
  waitFor(async () => {
    const mail = await waitForMail(address)
    return fits(mail) ? mail : undefined
  }, `such a mail to ${address}`)

type LinkMail = Email & { link: string }

export const waitForMailAbout = (address: string, subject: RegExp) =>
  waitForMatchingMail(address, (mail) => subject.test(mail.subject ?? ''))

/** The next mail, with another link. */
export const waitForMailAfter = (address: string, former: { link: string }) =>
  waitForMatchingMail(address, ({ link }) => link !== former.link)
