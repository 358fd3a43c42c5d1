import { Type } from '@sinclair/typebox'
import { closed, line } from './common.ts'
import { html, nullable, optional } from './nullable.ts'

const displayName = Type.String({
  minLength: 1,
  maxLength: 200,
  pattern: '\\S',
  description: 'Name as shown on screen or in letters',
  examples: ['Anna de Vries'],
})

const parts = {
  displayNameLetters: nullable(line('Name for letters')),
  familyName: nullable(line('Family name')),
  familyNameSpouse: nullable(line('Family name of the spouse')),
  givenName: nullable(line('Given name')),
  honorificPostfix: nullable(line('Honorific behind the name')),
  honorificPrefix: nullable(line('Honorific before the name')),
  initials: nullable(line('Initials')),
  note: nullable(html('Note on the name')),
  prefixFamilyName: nullable(line('What precedes the family name: `de`, `van`')),
  prefixFamilyNameSpouse: nullable(line("What precedes the spouse's family name")),
}

/** @see Resources and their fields, Relation */
export const Name = closed('Name', 'What a person is called', { displayName, ...parts })

export const NameInput = closed('NameInput', 'What a person is called; what is left out becomes null', {
  displayName,
  ...optional(parts),
})
