import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import PostalMime, { type Email } from 'postal-mime'
import { waitFor } from '../wait.ts'

export type LinkMail = Email & { link: string }

/** The read mails of each outbox, by file; files never change. */
const READ = new Map<string, Map<string, Buffer>>()

/** The mails to an address that a service on a data directory wrote, the newest first. */
export function mailsIn(dataDir: string, address: string): Buffer[] {
  const mails = [...readOutbox(join(dataDir, 'outbox'))].filter(([, raw]) => raw.includes(address))
  return mails.sort(([a], [b]) => (a < b ? 1 : -1)).map(([, raw]) => raw)
}

/** Reads the new mails; a file with another ending is still being written. */
function readOutbox(outbox: string): Map<string, Buffer> {
  const mails = READ.get(outbox) ?? new Map<string, Buffer>()
  READ.set(outbox, mails)
  for (const file of existsSync(outbox) ? readdirSync(outbox) : [])
    if (file.endsWith('.eml') && !mails.has(file)) mails.set(file, readFileSync(join(outbox, file)))
  return mails
}

/** The newest mail to an address, with its first link; waits until it exists. */
export async function waitForMailIn(dataDir: string, address: string): Promise<LinkMail> {
  const raw = await waitFor(() => mailsIn(dataDir, address)[0], `a mail to ${address}`)
  const mail = await PostalMime.parse(raw)
  return { ...mail, link: /https?:\/\/\S+/.exec(mail.text ?? '')?.[0] ?? '' }
}

/** The token in a mailed link. */
export const tokenInLink = ({ link }: { link: string }): string =>
  new URL(link).searchParams.get('token') ?? ''
