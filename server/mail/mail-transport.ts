import { randomUUID } from 'node:crypto'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import type { Log } from '../telemetry/log.ts'
import type { RenderedMail } from './render-mail.ts'

/** Mails that an instance sends at a time, so that one slow answer does not delay the others. */
export const CONCURRENT_MAILS = 4
/** Ends a delivery before the queue's lease of a minute, so that nobody else sends the mail meanwhile. */
const DELIVERY_TIMEOUT_MS = 45_000

export interface MailTransport {
  /** Delivers one mail; rejects if it was not accepted. */
  send(mail: RenderedMail & { to: string }): Promise<void>
  close(): void
}

/** Uses the mail server of SMTP_URL; without one, files in the outbox and links in the log. */
export function createMailTransport(config: Config, log: Log): MailTransport {
  return config.smtpUrl
    ? createSmtpTransport(config.smtpUrl, config.mailFrom)
    : createOutboxTransport(config, log)
}

/** Opens a transporter for the first mail, since loading its module would delay the start. */
function openOnFirstMail<T extends { close(): void }>(
  open: (nodemailer: typeof import('nodemailer')) => T,
): { get(): Promise<T>; close(): void } {
  let opening: Promise<T> | undefined
  return {
    get: () => {
      opening ??= import('nodemailer').then(open)
      return opening
    },
    close: () => {
      opening?.then((transporter) => transporter.close())
    },
  }
}

/** Keeps a few connections open, encrypts if the server supports it, and waits 20 s for each answer. */
function createSmtpTransport(url: string, from: string): MailTransport {
  const options = {
    url,
    pool: true,
    maxConnections: CONCURRENT_MAILS,
    connectionTimeout: 10_000,
    greetingTimeout: 10_000,
    socketTimeout: 20_000,
  } as const
  const transporter = openOnFirstMail(({ createTransport }) => createTransport(options, { from }))
  return {
    send: async (mail) => {
      const signal = AbortSignal.timeout(DELIVERY_TIMEOUT_MS)
      await (await transporter.get()).sendMail({ ...toSingleRecipient(mail), signal })
    },
    close: transporter.close,
  }
}

function createOutboxTransport(config: Config, log: Log): MailTransport {
  const directory = join(config.dataDir, 'outbox')
  const transporter = openOnFirstMail(({ createTransport }) =>
    createTransport({ streamTransport: true, buffer: true }, { from: config.mailFrom }),
  )
  return {
    send: async (mail) => {
      const { message } = await (await transporter.get()).sendMail(toSingleRecipient(mail))
      await mkdir(directory, { recursive: true, mode: 0o700 })
      const file = join(
        directory,
        `${new Date().toISOString().replaceAll(':', '-')}-${randomUUID().slice(0, 8)}.eml`,
      )
      // Readers of the outbox see complete mails only.
      await writeFile(`${file}.part`, message as Buffer, { mode: 0o600 })
      await rename(`${file}.part`, file)
      log.info(
        { file, link: /https?:\/\/\S+/.exec(mail.text)?.[0] },
        'SMTP_URL is not set; the mail was written to the outbox',
      )
    },
    close: transporter.close,
  }
}

/** Addresses exactly one recipient: in a string, a comma would separate two. */
const toSingleRecipient = (mail: RenderedMail & { to: string }) => ({
  ...mail,
  to: { name: '', address: mail.to },
})
