import { Type } from '@sinclair/typebox'
import { isValidPhoneNumber } from 'libphonenumber-js/min'
import type { Contact } from '../../../schemas/contact.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import { checkOf } from '../../../schemas/registry.ts'

const checkEmail = checkOf(Type.String({ format: 'email' }))

const isPhone = (value: string) => /^\+[\d\s().-]+$/.test(value) && isValidPhoneNumber(value)
const phone = [isPhone, 'must be a phone number with its country code, such as +31 20 624 1111'] as const

const rules: Record<Contact['type'], readonly [fits: (value: string) => boolean, otherwise: string]> = {
  PHONE: phone,
  MOBILE: phone,
  FAX: phone,
  EMAIL: [(value) => checkEmail(value).length === 0, 'must be an e-mail address'],
  SKYPE: [
    (value) => /^[A-Za-z][A-Za-z0-9.,_:-]{5,63}$/.test(value),
    'must be a Skype name: a letter, then at least five letters, digits or one of . , _ : -',
  ],
}

/** @throws RuleViolated when the value does not fit the contact's type */
export function requireFittingValue({ type, value }: Pick<Contact, 'type' | 'value'>): void {
  const [fits, message] = rules[type]
  if (!fits(value)) {
    throw new ServiceError('RuleViolated', { violations: [{ path: 'value', code: 'contactValue', message }] })
  }
}
