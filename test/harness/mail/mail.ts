import { config } from '../service/service.ts'
import { waitFor } from '../wait.ts'
import { type LinkMail, mailsIn, waitForMailIn } from './outbox.ts'

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

/** The newest mail to an address, with its first link; waits until it exists. */
export const waitForMail = (address: string): Promise<LinkMail> => waitForMailIn(config.dataDir, address)

/** The mails to an address, the newest first. */
export const mailsTo = (address: string): Buffer[] => mailsIn(config.dataDir, address)

/** The newest mail to an address that meets a condition; waits until it exists. */
export const waitForMatchingMail = (address: string, fits: (mail: LinkMail) => boolean): Promise<LinkMail> =>
  waitFor(async () => {
    const mail = await waitForMail(address)
    return fits(mail) ? mail : undefined
  }, `such a mail to ${address}`)

export const waitForMailAbout = (address: string, subject: RegExp) =>
  waitForMatchingMail(address, (mail) => subject.test(mail.subject ?? ''))

/** The next mail, with another link. */
export const waitForMailAfter = (address: string, former: { link: string }) =>
  waitForMatchingMail(address, ({ link }) => link !== former.link)
