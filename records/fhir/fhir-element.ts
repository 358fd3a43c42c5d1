import type { FhirJson } from './element-paths.ts'

/** Field values of a record; dates and times are ISO texts. */
export type FieldValues = Readonly<Record<string, unknown>>

/** Fields of a record as elements of a resource, in both directions. */
export interface FhirElement {
  /** The path of each field below the resource, for faults: `{ onset: 'onsetDateTime' }`. */
  paths: Readonly<Record<string, string>>
  /** The codes of fields with words of this service, for faults. */
  codes?: Readonly<Record<string, readonly string[]>>
  /** Says a fault of a field in terms of FHIR. */
  rephrase?(message: string): string
  /** The members of the resource. Several elements may add to the same list. */
  show(record: FieldValues): FhirJson
  /** The fields that a resource states. */
  read(resource: FhirJson): FieldValues
  /** Values by path that a client may send in place of the shown ones, because they say the same. */
  accepted?: Readonly<Record<string, readonly unknown[]>>
  /** Paths of what follows from other fields. A client may send back what was there before the write. */
  derived?: readonly string[]
  /** Elements that the service sets, whatever a client sends back. */
  ignored?: readonly string[]
  /** It refers to users, whom not every reader may know. */
  namesUsers?: true
}
