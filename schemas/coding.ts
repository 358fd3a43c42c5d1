import { type Static, Type } from '@sinclair/typebox'
import { shortTextField } from './common.ts'
import { internalField } from './forms/fields.ts'

/** Code in a code system, in addition to the words of the author. */
export const codingField = (noun: string, system: string, code: string) =>
  Type.Object(
    {
      system: shortTextField('URI or name of the code system', system),
      code: shortTextField('Code within the code system', code),
    },
    {
      additionalProperties: false,
      description: `Code of ${noun} in a code system`,
      examples: [{ system, code }],
    },
  )

export type Coding = Static<ReturnType<typeof codingField>>

const indexedTextsField = (description: string) => Type.Array(Type.String(), { description })

/** Internal fields for the search by words and codes. */
export const searchFields = {
  words: internalField(indexedTextsField('Normalised words for the search')),
  codes: internalField(indexedTextsField('Codes for the search, each alone and as `system|code`')),
}

/** Internal field for the search by the beginning of a text. */
export const searchTextsField = internalField(
  indexedTextsField('Normalised texts for the search, each after the name of its field'),
)

/** Natural keys: unique per kind and EHR. */
export const naturalKeyField = internalField(
  indexedTextsField('Normalised natural key, unique within the EHR'),
)
