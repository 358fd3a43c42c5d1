import { createRequire } from 'node:module'
import { Type } from '@sinclair/typebox'
import type { CountryCode } from 'libphonenumber-js/min'
import { ServiceError } from '../../../schemas/errors.ts'
import type { Contact } from '../../../schemas/profiles/contact.ts'
import { createValidator } from '../../../schemas/validation/validators.ts'

const checkEmail = createValidator(Type.String({ format: 'email' }))

const load = createRequire(import.meta.url)
/** Loaded on first use, so that the service starts quickly. */
const phoneNumbers = () => load('libphonenumber-js/min') as typeof import('libphonenumber-js/min')

/** Numbers are texts: short ones (112), national ones and extensions cannot be told from wrong ones. */
const phoneRule = [(value: string) => /\d/.test(value), 'must be a phone number: it has no digit'] as const

const contactRules: Record<Contact['type'], readonly [fits: (value: string) => boolean, otherwise: string]> =
  {
    PHONE: phoneRule,
    MOBILE: phoneRule,
    FAX: phoneRule,
    EMAIL: [(value) => checkEmail(value).length === 0, 'must be an e-mail address'],
    // The names of Skype and of its successors differ.
    SKYPE: [(value) => /[^\p{C}\p{Z}]/u.test(value), 'must have a visible character'],
  }

/** @throws RuleViolated when the value does not match the contact's type */
export function requireValidContactValue({ type, value }: Pick<Contact, 'type' | 'value'>): void {
  const [fits, message] = contactRules[type]
  if (!fits(value)) {
    throw new ServiceError('RuleViolated', { violations: [{ path: 'value', code: 'contactValue', message }] })
  }
}

const NUMBER_TYPES: readonly Contact['type'][] = ['PHONE', 'MOBILE', 'FAX']

/**
 * The international form of a number (E.164); null for other contacts, and for a number that has none, such as
 * 112.
 * @param country of the owner, for a national number
 */
export function internationalNumberOf(
  { type, value }: Pick<Contact, 'type' | 'value'>,
  country: unknown,
): string | null {
  if (!NUMBER_TYPES.includes(type)) return null
  const isSupported = typeof country === 'string' && phoneNumbers().isSupportedCountry(country)
  const phoneNumber = phoneNumbers().parsePhoneNumberFromString(
    value,
    isSupported ? (country as CountryCode) : undefined,
  )
  return phoneNumber?.isValid() ? phoneNumber.number : null
}
