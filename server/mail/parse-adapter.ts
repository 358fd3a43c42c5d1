import type { Log } from '../log.ts'
import type { MailQueue } from './queue.ts'
import type { TemplateName } from './templates.ts'

interface AccountMail {
  link: string
  appName: string
  user: { get(field: string): string | undefined }
}

/**
 * Parse Server's mail adapter on our queue. Parse does not await it, and a rejection that nobody awaits ends the
 * process: so these never reject.
 */
export function parseMailAdapter(queue: MailQueue, log: Log) {
  const enqueue = async (template: TemplateName, { link, appName, user }: AccountMail): Promise<void> => {
    const to = user.get('email') ?? user.get('username')
    try {
      if (to) await queue.enqueue({ to, template, language: user.get('language'), data: { link, appName } })
    } catch (err) {
      log.error({ err, template }, 'A mail could not be queued')
    }
  }
  return {
    sendVerificationEmail: (mail: AccountMail) => enqueue('verify-email', mail),
    sendPasswordResetEmail: (mail: AccountMail) => enqueue('reset-password', mail),
    /** Parse demands it; with the two above it never calls it. */
    sendMail: async () => {},
  }
}
