import { createRequire } from 'node:module'
import { Type } from '@sinclair/typebox'
import { ServiceError } from '../../../schemas/errors.ts'
import type { Contact } from '../../../schemas/profiles/contact.ts'
import { createValidator } from '../../../schemas/validation/validators.ts'

const checkEmail = createValidator(Type.String({ format: 'email' }))

const load = createRequire(import.meta.url)
/** Loaded on first use, so that the service starts quickly. */
const phoneNumbers = () => load('libphonenumber-js/min') as typeof import('libphonenumber-js/min')

const isPhone = (value: string) => /^\+[\d\s().-]+$/.test(value) && phoneNumbers().isValidPhoneNumber(value)
const phoneRule = [isPhone, 'must be a phone number with its country code, such as +31 20 624 1111'] as const

const contactRules: Record<Contact['type'], readonly [fits: (value: string) => boolean, otherwise: string]> =
  {
    PHONE: phoneRule,
    MOBILE: phoneRule,
    FAX: phoneRule,
    EMAIL: [(value) => checkEmail(value).length === 0, 'must be an e-mail address'],
    SKYPE: [
      (value) => /^[A-Za-z][A-Za-z0-9.,_:-]{5,63}$/.test(value),
      'must be a Skype name: a letter, then at least five letters, digits or one of . , _ : -',
    ],
  }

/** @throws RuleViolated when the value does not match the contact's type */
export function requireValidContactValue({ type, value }: Pick<Contact, 'type' | 'value'>): void {
  const [fits, message] = contactRules[type]
  if (!fits(value)) {
    throw new ServiceError('RuleViolated', { violations: [{ path: 'value', code: 'contactValue', message }] })
  }
}
