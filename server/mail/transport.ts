import { randomUUID } from 'node:crypto'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import nodemailer from 'nodemailer'
import type { Config } from '../config/config.ts'
import type { Log } from '../telemetry/log.ts'
import type { Rendered } from './render.ts'

export interface Transport {
  /** Hands one mail on; rejects when it was not accepted. */
  send(mail: Rendered & { to: string }): Promise<void>
  close(): void
}

/** The mail server of SMTP_URL; without one, files in the outbox and the links in the log. */
export function createTransport(config: Config, log: Log): Transport {
  return config.smtpUrl ? smtp(config.smtpUrl, config.mailFrom) : outbox(config, log)
}

/** A few connections kept open, encrypted when the server offers it, none waited for longer than 20 s. */
function smtp(url: string, from: string): Transport {
  const transporter = nodemailer.createTransport(
    {
      url,
      pool: true,
      maxConnections: 4,
      connectionTimeout: 10_000,
      greetingTimeout: 10_000,
      socketTimeout: 20_000,
    },
    { from },
  )
  return {
    send: async (mail) => {
      await transporter.sendMail(addressed(mail))
    },
    close: () => transporter.close(),
  }
}

function outbox(config: Config, log: Log): Transport {
  const directory = join(config.dataDir, 'outbox')
  const transporter = nodemailer.createTransport(
    { streamTransport: true, buffer: true },
    { from: config.mailFrom },
  )
  return {
    send: async (mail) => {
      const { message } = await transporter.sendMail(addressed(mail))
      await mkdir(directory, { recursive: true, mode: 0o700 })
      const file = join(
        directory,
        `${new Date().toISOString().replaceAll(':', '-')}-${randomUUID().slice(0, 8)}.eml`,
      )
      // Who looks into the outbox finds whole mails.
      await writeFile(`${file}.part`, message as Buffer, { mode: 0o600 })
      await rename(`${file}.part`, file)
      log.info(
        { file, link: /https?:\/\/\S+/.exec(mail.text)?.[0] },
        'No SMTP_URL: mail written to the outbox',
      )
    },
    close: () => transporter.close(),
  }
}

/** To exactly one reader: as a text, an address with a comma in it would be two. */
const addressed = (mail: Rendered & { to: string }) => ({ ...mail, to: { name: '', address: mail.to } })
