import { type Static, Type } from '@sinclair/typebox'
import { COUNTRIES } from './code-lists.ts'
import { closed } from './common.ts'
import { GenderEnum } from './enum.ts'
import { Name, NameInput } from './name.ts'
import { html, nullable, optional } from './nullable.ts'

/** A country by its ISO 3166-1 alpha-2 code. */
export const country = (description: string) =>
  Type.Unsafe<string>({
    type: 'string',
    enum: COUNTRIES,
    sentence: 'must be an ISO 3166-1 alpha-2 code',
    description,
    examples: ['NL'],
  })

const mayBeNull = {
  birthDate: nullable(Type.String({ format: 'date', description: 'Date of birth, YYYY-MM-DD' })),
  gender: nullable(GenderEnum),
  language: nullable(
    Type.String({
      format: 'language-tag',
      sentence: 'must be a language tag: an ISO 639-1 code, and a country where it matters (nl, nl-BE)',
      description: 'Language tag of RFC 3066: ISO 639-1, where it matters with ISO 3166-1 alpha-2',
      examples: ['nl-NL'],
    }),
  ),
  nationality: nullable(country('Nationality, as ISO 3166-1 alpha-2 code')),
  note: nullable(html('Note about the person')),
}

/**
 * What is stored about a person, be it the user or one of their relations.
 * @see Resources and their fields, Relation
 */
export const personFields = { ...mayBeNull, name: Name }

/** A user's, by which their values are summed up by day. */
const timeZone = nullable(
  Type.String({
    format: 'time-zone',
    sentence: 'must be a time zone of the IANA database, such as Europe/Amsterdam',
    description: 'Time zone, by its IANA name',
    examples: ['Europe/Amsterdam'],
  }),
)

/** What is stored about a user, beyond what is of any person. */
export const userFields = { ...personFields, timeZone }

/** The same as a body gives it: what is left out becomes null. */
export const personInput = { ...optional(mayBeNull), name: NameInput }

const id = Type.String({
  minLength: 1,
  maxLength: 64,
  description: "The user's id",
  examples: ['n4Fq2LxT0a'],
})
const picture = nullable(
  Type.String({
    maxLength: 200,
    description: 'Path of the picture',
    examples: ['/profile/n4Fq2LxT0a/picture'],
  }),
)

export const Person = closed('Person', 'A person; a connection sees the name and the picture only', {
  id,
  picture,
  name: Name,
  ...optional({ ...mayBeNull, timeZone }),
})
export type Person = Static<typeof Person>

export const PersonUpdate = closed('PersonUpdate', 'A complete person; what is left out becomes null', {
  ...personInput,
  ...optional({ timeZone }),
  id: Type.Optional(Type.String({ ...id, description: "The user's id, as in the path" })),
  picture: Type.Optional(
    Type.Unsafe<string | null>({ ...picture, description: 'Ignored: pictures are uploaded' }),
  ),
})
export type PersonUpdate = Static<typeof PersonUpdate>
