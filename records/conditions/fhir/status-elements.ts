import { conceptElement, extensionElement, ownUri } from '../../fhir/elements.ts'
import type { FhirElement } from '../../fhir/fhir-element.ts'

/** Words that are codes of the specification themselves. */
export const sameWords = (words: readonly string[]): Record<string, string> =>
  Object.fromEntries(words.map((word) => [word, word]))

export const ENTERED_IN_ERROR = 'entered-in-error'

/**
 * The clinical status. R4 forbids it for a record that was entered in error (con-5, ait-2), so that an extension keeps it.
 * @param verification the field with the verification status
 */
export function clinicalStatusElement(field: string, verification: string, system: string): FhirElement {
  const status = conceptElement(field, 'clinicalStatus', system)
  const statusExtension = extensionElement(field, ownUri('clinical-status'), 'valueCode')
  return {
    paths: status.paths,
    show: (record) => (record[verification] === ENTERED_IN_ERROR ? statusExtension : status).show(record),
    read: (resource) => {
      const values = status.read(resource)
      return values[field] === undefined ? statusExtension.read(resource) : values
    },
  }
}
