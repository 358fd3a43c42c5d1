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
  displayNameLetters: nullable(line('Name for letters', 'A. de Vries')),
  familyName: nullable(line('Family name', 'Vries')),
  familyNameSpouse: nullable(line('Family name of the spouse', 'Berg')),
  givenName: nullable(line('Given name', 'Anna')),
  honorificPostfix: nullable(line('Honorific behind the name', 'MSc')),
  honorificPrefix: nullable(line('Honorific before the name', 'dr.')),
  initials: nullable(line('Initials', 'A.')),
  note: nullable(html('Note on the name')),
  prefixFamilyName: nullable(line('What precedes the family name: `de`, `van`', 'de')),
  prefixFamilyNameSpouse: nullable(line("What precedes the spouse's family name", 'van den')),
}

/** @see Resources and their fields, Relation */
export const Name = closed('Name', 'What a person is called', { displayName, ...parts })

export const NameInput = closed('NameInput', 'What a person is called; what is left out becomes null', {
  displayName,
  ...optional(parts),
})
