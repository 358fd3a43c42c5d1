import type { MailLinks } from '../../records/accounts/user/mails.ts'
import type { Log } from '../telemetry/log.ts'
import type { MailQueue } from './mail-queue.ts'
import type { TemplateName } from './mail-templates.ts'

interface AccountMail {
  /** Link to a page of Parse Server; its token works for our page, too. */
  link: string
  user: { get(field: string): string | undefined }
}

/**
 * Parse Server's mail adapter on our queue. Parse does not await it, and an unhandled rejection would end the
 * process, so it never rejects.
 * @param links to our own pages; the open test environment has only Parse's pages
 */
export function createParseMailAdapter(queue: MailQueue, links: MailLinks | undefined, log: Log) {
  const enqueue = async (template: TemplateName, { user }: AccountMail, link: string): Promise<void> => {
    const to = user.get('email') ?? user.get('username')
    try {
      if (to)
        await queue.enqueue({
          to,
          template,
          language: user.get('language'),
          // Registrations count these mails before they void the former link.
          ...(template === 'verify-email' && { counted: true }),
          data: { link },
        })
    } catch (err) {
      log.error({ err, template }, 'Queueing a mail failed')
    }
  }
  return {
    async sendVerificationEmail(mail: AccountMail) {
      // An invited user activates the account by choosing a password.
      if (mail.user.get('invitedAt') !== undefined) return
      const link =
        links?.activation(tokenInLink(mail), mail.user.get('language'), hasAgreed(mail)) ?? mail.link
      await enqueue('verify-email', mail, link)
    },
    async sendPasswordResetEmail(mail: AccountMail) {
      const link = links?.password(tokenInLink(mail), mail.user.get('language'), hasAgreed(mail)) ?? mail.link
      await enqueue('reset-password', mail, link)
    },
    /** Parse requires this function, but never calls it if the two above exist. */
    sendMail: async () => {},
  }
}

const hasAgreed = ({ user }: AccountMail): boolean => user.get('termsVersion') !== undefined

const tokenInLink = ({ link }: AccountMail): string => new URL(link).searchParams.get('token') ?? ''
