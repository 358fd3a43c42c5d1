import { type Static, Type } from '@sinclair/typebox'
import { closed, id, line } from './common.ts'
import { AvailabilityEnum, ContactTypeEnum, ContactUsageEnum } from './enum.ts'
import { html, nullable, optional } from './nullable.ts'

const mayBeNull = {
  availability: nullable(AvailabilityEnum),
  label: nullable(line('What the contact is called', 'Reception')),
  note: nullable(html('Note on the contact')),
  usage: nullable(ContactUsageEnum),
}
const required = {
  primary: Type.Boolean({
    description:
      'Whether it is the primary contact of its type. Exactly one is: the first one, until another one becomes primary; when it is deleted, the oldest remaining one',
    examples: [true],
  }),
  type: { ...ContactTypeEnum, examples: ['PHONE'] },
  value: Type.String({
    minLength: 1,
    maxLength: 254,
    description: 'What fits the type: an e-mail address, a phone number with its country code, a Skype name',
    examples: ['+31 20 624 1111'],
  }),
}
const contactId = { contactId: id('the contact') }

export const contactFields = { ...mayBeNull, ...required }

/** @see Resources and their fields, Contact information */
export const Contact = closed('Contact', 'A means of contact of a person or of a relation', {
  ...contactId,
  ...contactFields,
})
export type Contact = Static<typeof Contact>

export const ContactCreate = closed('ContactCreate', 'A means of contact; what is left out becomes null', {
  ...optional(mayBeNull),
  ...required,
})
export type ContactCreate = Static<typeof ContactCreate>

export const ContactUpdate = closed('ContactUpdate', 'A complete contact; what is left out becomes null', {
  ...contactId,
  ...ContactCreate.properties,
})
