import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import PostalMime, { type Email } from 'postal-mime'
import { config } from '../service/service.ts'
import { found } from '../until.ts'

/**
 * Opens the page that a mailed link leads to, fills in its form and presses its button.
 * @returns the next page, or that one where it has no form
 */
export async function followLink(link: string, more: Record<string, string> = {}): Promise<string> {
  const page = await (await fetch(link)).text()
  const action = /<form[^>]*action="([^"]+)"/.exec(page)?.[1]
  if (action === undefined) return page
  const hidden = [...page.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)]
  const fields = Object.fromEntries(hidden.map(([, name = '', value = '']) => [name, value]))
  const body = new URLSearchParams({ ...fields, ...more })
  return (await fetch(new URL(action, link), { method: 'POST', body })).text()
}

/** What is in the outbox, by file; nothing in it changes. */
const mails = new Map<string, Buffer>()

/** The newest mail in the outbox to an address, with the first link in it; waits until it is there. */
export async function mailTo(address: string): Promise<LinkMail> {
  const raw = await found(() => outboxOf(address)[0], `a mail to ${address}`)
  const mail = await PostalMime.parse(raw)
  return { ...mail, link: /https?:\/\/\S+/.exec(mail.text ?? '')?.[0] ?? '' }
}

/** The mails in the outbox to an address, the newest first. */
export function outboxOf(address: string): Buffer[] {
  readOutbox()
  const all = [...mails].filter(([, raw]) => raw.includes(address))
  return all.sort(([a], [b]) => (a < b ? 1 : -1)).map(([, raw]) => raw)
}

function readOutbox(): void {
  const outbox = join(config.dataDir, 'outbox')
  if (!existsSync(outbox)) return
  for (const file of readdirSync(outbox))
    if (file.endsWith('.eml') && !mails.has(file)) mails.set(file, readFileSync(join(outbox, file)))
}

/** The token in a mailed link. */
export const tokenIn = ({ link }: { link: string }): string => new URL(link).searchParams.get('token') ?? ''

/** A mail to an address that is as it should be; waits until it is there. */
export const mailThat = (address: string, fits: (mail: LinkMail) => boolean): Promise<LinkMail> =>
  found(async () => {
    const mail = await mailTo(address)
    return fits(mail) ? mail : undefined
  }, `such a mail to ${address}`)

type LinkMail = Email & { link: string }

export const mailAbout = (address: string, subject: RegExp) =>
  mailThat(address, (mail) => subject.test(mail.subject ?? ''))

/** The mail that follows another one, with a link of its own. */
export const mailAfter = (address: string, former: { link: string }) =>
  mailThat(address, ({ link }) => link !== former.link)
