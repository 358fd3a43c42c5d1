import { type Static, Type } from '@sinclair/typebox'
import { closedObject, idField, shortTextField } from '../common.ts'
import { AvailabilityEnum, ContactTypeEnum, ContactUsageEnum } from '../enums.ts'
import { htmlField, nullable, optionalFields } from '../forms/nullable.ts'

const nullableContactFields = {
  availability: nullable(AvailabilityEnum),
  label: nullable(shortTextField('Label of the contact', 'Reception')),
  note: nullable(htmlField('Note on the contact')),
  usage: nullable(ContactUsageEnum),
}
const requiredContactFields = {
  primary: Type.Boolean({
    description:
      'True for the primary contact of its type. Each type has at most one: a new primary contact takes over from the former, which becomes false',
    examples: [true],
  }),
  type: { ...ContactTypeEnum, examples: ['PHONE'] },
  value: Type.String({
    minLength: 1,
    maxLength: 254,
    format: 'line',
    description:
      'Value that fits the type: an e-mail address, a phone number in any spelling, or a Skype name',
    examples: ['+31 20 624 1111'],
  }),
}
const internationalNumber = nullable(
  Type.String({
    format: 'line',
    description:
      'Number in international form (E.164), if it can be told: from the value, or from the country of an address',
    examples: ['+31206241111'],
  }),
)
const contactIdField = { contactId: idField('the contact') }

export const contactFields = { ...nullableContactFields, ...requiredContactFields, internationalNumber }

/** @see Resources and their fields, Contact information */
export const Contact = closedObject('Contact', 'A means of contact of a person or of a relation', {
  ...contactIdField,
  ...contactFields,
})
export type Contact = Static<typeof Contact>

export const ContactCreate = closedObject('ContactCreate', 'A means of contact; omitted fields become null', {
  ...optionalFields(nullableContactFields),
  ...requiredContactFields,
})
export type ContactCreate = Static<typeof ContactCreate>

export const ContactUpdate = closedObject('ContactUpdate', 'A complete contact; omitted fields become null', {
  ...contactIdField,
  ...ContactCreate.properties,
  ...optionalFields({
    internationalNumber: { ...internationalNumber, description: 'Ignored: the service derives it' },
  }),
})
