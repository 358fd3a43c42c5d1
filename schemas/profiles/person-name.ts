import { closedObject, displayedNameField, shortTextField } from '../common.ts'
import { htmlField, nullable, optionalFields } from '../forms/nullable.ts'

const displayNameField = displayedNameField('Display name, for screens and letters', 'Anna de Vries')

const nullableNameFields = {
  displayNameLetters: nullable(shortTextField('Name for letters', 'A. de Vries')),
  familyName: nullable(shortTextField('Family name', 'Vries')),
  familyNameSpouse: nullable(shortTextField('Family name of the spouse', 'Berg')),
  givenName: nullable(shortTextField('Given name', 'Anna')),
  honorificPostfix: nullable(shortTextField('Honorific after the name', 'MSc')),
  honorificPrefix: nullable(shortTextField('Honorific before the name', 'dr.')),
  initials: nullable(shortTextField('Initials', 'A.')),
  note: nullable(htmlField('Note on the name')),
  prefixFamilyName: nullable(shortTextField('Prefix of the family name, such as `de` or `van`', 'de')),
  prefixFamilyNameSpouse: nullable(shortTextField('Prefix of the family name of the spouse', 'van den')),
}

/** @see Resources and their fields, Relation */
export const PersonName = closedObject('Name', 'Name of a person', {
  displayName: displayNameField,
  ...nullableNameFields,
})

export const PersonNameInput = closedObject('NameInput', 'Name of a person; omitted fields become null', {
  displayName: displayNameField,
  ...optionalFields(nullableNameFields),
})
