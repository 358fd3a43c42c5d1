import { type TProperties, Type } from '@sinclair/typebox'

/** Object schema without additional properties. */
export const closedObject = <P extends TProperties>($id: string, description: string, properties: P) =>
  Type.Object(properties, { $id, description, additionalProperties: false })

/** Id of a stored object. It has no pattern, so an impossible id counts as not found. */
export const idField = (noun: string, example?: string) =>
  Type.String({
    minLength: 1,
    maxLength: 64,
    description: `Id of ${noun}`,
    ...(example && { examples: [example] }),
  })

/** Text of one line, such as a name, a title or a label. The format `line` refuses line breaks. */
export const shortTextField = (description: string, ...examples: string[]) =>
  Type.String({
    minLength: 1,
    maxLength: 200,
    format: 'line',
    description,
    ...(examples.length > 0 ? { examples } : {}),
  })

/**
 * Rules of a name that others see, also in mails: no line breaks, no characters that change the order or hide others, not only
 * spaces. Persian and Indian names need the joiners U+200C and U+200D, which emoji have, too; keyboards of Arabic and
 * Hebrew give the marks U+200E and U+200F.
 */
export const NAME_RULES = {
  minLength: 1,
  maxLength: 200,
  pattern: '^\\p{Zs}*[^\\s\\p{Cc}\\p{Cf}](?:[^\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]|[\\u00AD\\u200C-\\u200F])*$',
  sentence: 'must begin with a visible character, and have no line breaks, control or formatting characters',
  inWords: 'with a visible character, and without line breaks, control and formatting characters',
} as const

/** A name by these rules. */
export const displayedNameField = (description: string, example: string) =>
  Type.String({ ...NAME_RULES, description, examples: [example] })

/** Rules of a language tag (RFC 3066). */
export const LANGUAGE_TAG = {
  format: 'language-tag',
  sentence: 'must be a language tag: an ISO 639-1 code, and a country where it matters (nl, nl-BE)',
} as const

/** Media type of plain text of any number of lines; all other text has one line. */
export const MULTI_LINE = { contentMediaType: 'text/plain' } as const

/** Text of any number of lines. */
export const longTextField = (description: string, example?: string, maxLength = 10_000) =>
  Type.String({ ...MULTI_LINE, maxLength, description, ...(example && { examples: [example] }) })

const dateObjectRule = { sentence: 'must be {"__type":"Date","iso":"<time in UTC>"}' }

/** A date in class form; any fault inside it is one violation. */
export const dateObjectField = (description: string) =>
  Type.Object(
    {
      __type: Type.Literal('Date', dateObjectRule),
      iso: Type.String({ format: 'date-time', ...dateObjectRule }),
    },
    { additionalProperties: false, description, ...dateObjectRule },
  )

/**
 * A measured number. A rule checks the range, because it depends on the unit in another property. The keyword
 * `documented` adds to the documents what a rule checks.
 */
export const quantityField = (description: string, ...examples: number[]) =>
  Type.Number({ description, ...(examples.length > 0 ? { examples } : {}) })

/** System fields of every stored object. */
export const systemFields = {
  objectId: Type.Optional(idField('this object, assigned by the service')),
  createdAt: Type.Optional(Type.String({ format: 'date-time', description: 'Time of creation' })),
  updatedAt: Type.Optional(Type.String({ format: 'date-time', description: 'Time of the last update' })),
  version: Type.Optional(
    Type.Integer({ minimum: 1, description: 'Version number, from 1; each write increments it' }),
  ),
}

export const SYSTEM_FIELD_NAMES = Object.keys(systemFields) as (keyof typeof systemFields)[]

/** A path of the service, see path-api/response/path-prefix.ts. */
export const pathField = (description: string, example: string) =>
  Type.String({ format: 'uri-reference', description, examples: [example] })

/** Links to related resources. */
export const RecordLinks = closedObject('Links', 'Links to related resources', {
  self: pathField('Path of this record', '/ehr/e5RtGb81Xz/procedure/bloodpressure/m4RtYu78Io'),
  collection: pathField(
    'Path of the list that contains the record',
    '/ehr/e5RtGb81Xz/procedure/bloodpressure',
  ),
  history: pathField(
    'Path of the history of the record',
    '/ehr/e5RtGb81Xz/procedure/bloodpressure/m4RtYu78Io/history',
  ),
  carePlan: Type.Optional(
    pathField('Path of the care plan of the record', '/ehr/e5RtGb81Xz/careplan/p0LmNb72Qw'),
  ),
})

/** `an event`, `a goal`. */
export const withArticle = (noun: string): string => `${/^[aeiou]/i.test(noun) ? 'an' : 'a'} ${noun}`
