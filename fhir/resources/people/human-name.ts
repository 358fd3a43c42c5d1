import { STRUCTURES } from '../../../records/fhir/elements.ts'
import type { StoredPerson } from '../../../records/profiles/person/persons.ts'

type PersonFields = Pick<StoredPerson, 'name' | 'gender' | 'birthDate' | 'language'>

const GENDERS = { MALE: 'male', FEMALE: 'female' } as const

/** Parts of a family name, by the extensions of a HumanName. */
const FAMILY_PARTS = {
  prefixFamilyName: 'humanname-own-prefix',
  familyName: 'humanname-own-name',
  prefixFamilyNameSpouse: 'humanname-partner-prefix',
  familyNameSpouse: 'humanname-partner-name',
} as const

const QUALIFIER = `${STRUCTURES}/iso21090-EN-qualifier`

/** A person's name. */
export function humanName({ name }: PersonFields) {
  const {
    displayName,
    familyName,
    prefixFamilyName,
    givenName,
    initials,
    honorificPrefix,
    honorificPostfix,
  } = name
  const family = [prefixFamilyName, familyName].filter(Boolean).join(' ')
  const parts = Object.entries(FAMILY_PARTS).flatMap(([field, extension]) => {
    const valueString = name[field as keyof typeof FAMILY_PARTS]
    return valueString ? [{ url: `${STRUCTURES}/${extension}`, valueString }] : []
  })
  const givenNames = [givenName, initials].filter(Boolean)
  // The second list says which of the first are initials.
  const qualifiers = [...(givenName ? [null] : []), { extension: [{ url: QUALIFIER, valueCode: 'IN' }] }]
  return {
    use: 'official',
    text: displayName,
    ...(family && { family, ...(parts.length > 0 && { _family: { extension: parts } }) }),
    ...(givenNames.length > 0 && { given: givenNames, ...(initials && { _given: qualifiers }) }),
    ...(honorificPrefix && { prefix: [honorificPrefix] }),
    ...(honorificPostfix && { suffix: [honorificPostfix] }),
  }
}

/** The elements that a person hides from everybody else. */
export const personalElements = ({ gender, birthDate, language }: PersonFields) => ({
  ...(gender && { gender: GENDERS[gender] }),
  ...(birthDate && { birthDate }),
  ...(language && {
    communication: [
      { language: { coding: [{ system: 'urn:ietf:bcp:47', code: language }] }, preferred: true },
    ],
  }),
})

/** The picture of a person, by its address in the path family. */
export const photoOf = ({ id, picture }: StoredPerson, publicUrl: string | undefined) =>
  picture && publicUrl !== undefined ? { photo: [{ url: `${publicUrl}/profile/${id}/picture` }] } : {}
