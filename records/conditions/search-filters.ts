import { type TSchema, Type } from '@sinclair/typebox'
import type { Coding } from '../../schemas/coding.ts'
import type { ListFilter, Values } from '../ehr-records/kind.ts'
import type { FhirSearchParameter } from '../fhir/search/search-parameters.ts'
import { ENTERED_IN_ERROR } from './fhir/status-elements.ts'
import { searchTextsOf, searchWordsOf } from './search-words.ts'

/** The search terms of a code: alone, and with its system as in FHIR searches. */
const searchCodesOf = (code: unknown): string[] => {
  if (code === undefined) return []
  const { system, code: value } = code as Coding
  return [value, `${system}|${value}`]
}

/** The search fields of a record: words and codes. */
export const searchFieldsFrom = (texts: (values: Values) => unknown[]) => (values: Values) => ({
  words: searchWordsOf(...texts(values)),
  codes: searchCodesOf(values.code),
})

const searchTextSchema = (description: string, example: string, maxLength: number) =>
  Type.String({ minLength: 1, maxLength, description, examples: [example] })

/** @param where the searched texts, in words for the description */
export const searchFilter = (where: string, example: string): ListFilter => ({
  schema: searchTextSchema(
    `Words to find in ${where}, regardless of case and diacritics; each must be the beginning of a word`,
    example,
    200,
  ),
  where: (value) => ({ words: { starting: searchWordsOf(value) } }),
})

export const codeFilter: ListFilter = {
  schema: searchTextSchema('Code, alone or as `system|code`, exactly as stored', '38341003', 401),
  where: (value) => ({ codes: value }),
}

/** A filter by one value of a field. */
export const fieldFilter = (field: string, schema: TSchema): ListFilter => ({
  schema,
  where: (value) => ({ [field]: value }),
})

/**
 * A filter by the clinical status, which FHIR R4 forbids for a record that was entered in error (con-5, ait-2).
 * @param verification the field with the verification status
 */
export const clinicalStatusFilter = (schema: TSchema, verification: string): ListFilter => ({
  schema: { ...schema, description: 'Clinical status; leaves out records that were entered in error' },
  where: (value) => ({ status: value, [verification]: { not: ENTERED_IN_ERROR } }),
})

/** A field whose text, or its beginning, a client knows. The record has the search texts of the field. */
export const stringParameter = (description: string, field: string): FhirSearchParameter => ({
  type: 'string',
  description,
  field,
  modifiers: ['exact'],
  where: ({ text, modifier }) => {
    if (modifier === 'exact') return { [field]: text }
    const beginnings = searchTextsOf([field], { [field]: text })
    // A text of signs alone has no words. It is not the beginning of every text.
    return { texts: searchWordsOf(text).length > 0 ? { starting: beginnings } : { in: beginnings } }
  },
})
