import { type TSchema, Type } from '@sinclair/typebox'
import type { Coding } from '../../schemas/coding.ts'
import type { Filter, Values } from '../registered/kind.ts'
import { wordsOf } from '../store/reading/words.ts'

/** What a code is found by: alone, and with its system before it, as FHIR's searches write it. */
const codesOf = (code: unknown): string[] => {
  if (code === undefined) return []
  const { system, code: value } = code as Coding
  return [value, `${system}|${value}`]
}

/** What is looked for among these: their words and their codes. */
export const searchedIn = (texts: (values: Values) => unknown[]) => (values: Values) => ({
  words: wordsOf(...texts(values)),
  codes: codesOf(values.code),
})

const text = (description: string, example: string, maxLength: number) =>
  Type.String({ minLength: 1, maxLength, description, examples: [example] })

/** @param where the texts that are searched, in words */
export const search = (where: string, example: string): Filter => ({
  schema: text(
    `Words in ${where}: all of them must occur, each as the beginning of a word, regardless of case and diacritics`,
    example,
    200,
  ),
  where: (value) => ({ words: { starting: wordsOf(value) } }),
})

export const byCode: Filter = {
  schema: text('A code, or its system, a | and the code, exactly as they are stored', '38341003', 401),
  where: (value) => ({ codes: value }),
}

/** By one value of a field. */
export const by = (field: string, schema: TSchema): Filter => ({
  schema,
  where: (value) => ({ [field]: value }),
})
