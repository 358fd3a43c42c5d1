import { type Static, Type } from '@sinclair/typebox'
import { line } from './common.ts'
import { internal } from './forms/fields.ts'

/** What a code system calls it, beside the words of the person who wrote it. */
export const coding = (of: string, system: string, code: string) =>
  Type.Object(
    { system: line('The code system: its URI, or its name', system), code: line('The code in it', code) },
    {
      additionalProperties: false,
      description: `What a code system calls ${of}`,
      examples: [{ system, code }],
    },
  )

export type Coding = Static<ReturnType<typeof coding>>

const texts = (description: string) => Type.Array(Type.String(), { description })

/** What a text or a code that is looked for is compared with. */
export const searched = {
  words: internal(texts('The words by which it is found, normalised')),
  codes: internal(texts('The codes by which it is found: alone, and behind their system and a |')),
}

/** Each of these is of one record of the kind in an EHR. */
export const knownBy = internal(texts('What identifies it, normalised'))
