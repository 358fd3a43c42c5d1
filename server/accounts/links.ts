import type { Links } from '../../records/accounts/user/mails.ts'

/** Lets the page ask for the agreement; whether it is needed, the records know. */
const termsOf = (agreed: boolean) => (agreed ? {} : { terms: 'true' })

/** Mailed links lead to our own pages, which act on a button only: mail scanners follow links. */
export function linksOf(publicUrl: string): Links {
  const link = (path: string, parameters: Record<string, string | undefined>) => {
    const url = new URL(`${publicUrl}${path}`)
    for (const [name, value] of Object.entries(parameters)) if (value) url.searchParams.set(name, value)
    return url.href
  }
  return {
    activation: (token, lang, agreed) =>
      link('/auth/account/register/activation', { token, lang, ...termsOf(agreed) }),
    password: (token, lang, agreed) =>
      link('/auth/account/password/choice', { token, lang, ...termsOf(agreed) }),
  }
}
