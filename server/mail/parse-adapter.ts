import type { Links } from '../../records/accounts/user/mails.ts'
import type { Log } from '../telemetry/log.ts'
import type { MailQueue } from './queue.ts'
import { appName, type TemplateName } from './templates.ts'

interface AccountMail {
  /** Of a page of Parse Server's; its token serves our own page just as well. */
  link: string
  user: { get(field: string): string | undefined }
}

/**
 * Parse Server's mail adapter on our queue. Parse does not await it, and a rejection that nobody awaits ends the
 * process: so these never reject.
 * @param links to our own pages; the open test environment has only Parse's
 */
export function parseMailAdapter(queue: MailQueue, links: Links | undefined, log: Log) {
  const enqueue = async (template: TemplateName, { user }: AccountMail, link: string): Promise<void> => {
    const to = user.get('email') ?? user.get('username')
    try {
      if (to) await queue.enqueue({ to, template, language: user.get('language'), data: { link, appName } })
    } catch (err) {
      log.error({ err, template }, 'A mail could not be queued')
    }
  }
  return {
    async sendVerificationEmail(mail: AccountMail) {
      // One who was invited activates the account by choosing a password.
      if (mail.user.get('invitedAt') !== undefined) return
      const link = links?.activation(tokenOf(mail), mail.user.get('language'), hasAgreed(mail)) ?? mail.link
      await enqueue('verify-email', mail, link)
    },
    async sendPasswordResetEmail(mail: AccountMail) {
      const link = links?.password(tokenOf(mail), mail.user.get('language'), hasAgreed(mail)) ?? mail.link
      await enqueue('reset-password', mail, link)
    },
    /** Parse demands it; with the two above it never calls it. */
    sendMail: async () => {},
  }
}

const hasAgreed = ({ user }: AccountMail): boolean => user.get('termsVersion') !== undefined

const tokenOf = ({ link }: AccountMail): string => new URL(link).searchParams.get('token') ?? ''
