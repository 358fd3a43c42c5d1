import { type Static, Type } from '@sinclair/typebox'
import { COUNTRY_CODES } from '../code-lists.ts'
import { closedObject, LANGUAGE_TAG } from '../common.ts'
import { GenderEnum } from '../enums.ts'
import { htmlField, nullable, optionalFields } from '../forms/nullable.ts'
import { PersonName, PersonNameInput } from './person-name.ts'

export const countryField = (description: string) =>
  Type.Unsafe<string>({
    type: 'string',
    enum: COUNTRY_CODES,
    sentence: 'must be an ISO 3166-1 alpha-2 code',
    description,
    examples: ['NL'],
  })

const nullablePersonFields = {
  birthDate: nullable(
    Type.String({ format: 'date', description: 'Date of birth, YYYY-MM-DD, from 1850-01-01 until today' }),
  ),
  gender: nullable(GenderEnum),
  language: nullable(
    Type.String({
      ...LANGUAGE_TAG,
      description:
        'Language tag (RFC 3066): an ISO 639-1 code, optionally with an ISO 3166-1 alpha-2 country',
      examples: ['nl-NL'],
    }),
  ),
  nationality: nullable(countryField('Nationality, as ISO 3166-1 alpha-2 code')),
  note: nullable(htmlField('Note on the person')),
}

/**
 * Stored data about a person: the user, or one of their relations.
 * @see Resources and their fields, Relation
 */
export const personFields = { ...nullablePersonFields, name: PersonName }

/** Time zone of a user, for daily sums. */
const timeZoneField = nullable(
  Type.String({
    format: 'time-zone',
    sentence: 'must be a time zone of the IANA database, such as Europe/Amsterdam',
    description: 'Time zone, by its IANA name',
    examples: ['Europe/Amsterdam'],
  }),
)

/** Stored data about a user: that of a person, and the time zone. */
export const profileFields = { ...personFields, timeZone: timeZoneField }

/** Body form: omitted fields become null. */
export const personInputFields = { ...optionalFields(nullablePersonFields), name: PersonNameInput }

const personIdField = Type.String({
  minLength: 1,
  maxLength: 64,
  description: 'User id',
  examples: ['n4Fq2LxT0a'],
})
const picturePathField = nullable(
  Type.String({
    maxLength: 200,
    format: 'line',
    description: 'Path of the picture',
    examples: ['/profile/n4Fq2LxT0a/picture'],
  }),
)

export const Person = closedObject('Person', 'A person; connections see only the name and the picture', {
  id: personIdField,
  picture: picturePathField,
  name: PersonName,
  ...optionalFields({ ...nullablePersonFields, timeZone: timeZoneField }),
})
export type Person = Static<typeof Person>

export const PersonUpdate = closedObject('PersonUpdate', 'A complete person; omitted fields become null', {
  ...personInputFields,
  ...optionalFields({ timeZone: timeZoneField }),
  id: Type.Optional(Type.String({ ...personIdField, description: 'User id, as in the path' })),
})
export type PersonUpdate = Static<typeof PersonUpdate>
