import type { MailLinks } from '../../records/accounts/user/mails.ts'

/** Tells the page to ask for acceptance of the terms. */
const termsParameterOf = (hasAgreed: boolean) => (hasAgreed ? {} : { terms: 'true' })

/**
 * Creates the links in mails. They lead to our own pages, which require a click on a button, because mail
 * scanners open links.
 */
export function createMailLinks(publicUrl: string) {
  const link = (path: string, parameters: Record<string, string | undefined>) => {
    const url = new URL(`${publicUrl}${path}`)
    for (const [name, value] of Object.entries(parameters)) if (value) url.searchParams.set(name, value)
    return url.href
  }
  const links: MailLinks = {
    activation: (token, lang, hasAgreed) =>
      link('/auth/account/register/activation', { token, lang, ...termsParameterOf(hasAgreed) }),
    password: (token, lang, hasAgreed) =>
      link('/auth/account/password/choice', { token, lang, ...termsParameterOf(hasAgreed) }),
  }
  /** The page that mails a link for choosing a new password. */
  const newPassword = (lang: string | undefined) => link('/auth/link', { link: 'password', lang })
  return { ...links, newPassword }
}
