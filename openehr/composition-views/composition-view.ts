import type { ClassKind } from '../../records/ehr-records/kind.ts'
import type { ParseDocument } from '../../records/store/documents/parse-format.ts'
import type { RmObject } from '../rm/canonical-json.ts'

/** A kind whose records are compositions to AQL and to the operations of compositions. They are made on reading. */
export interface CompositionView {
  kind: ClassKind
  head: CompositionHead
  /** The archetype of the only entry. */
  archetype: string
  /** Where its records can be changed, below their EHR. */
  path: string
  /** The field with the start of a composition. */
  startField: string
  values: readonly ViewValue[]
  /** The filter for the records that are shown, and that for all others; undefined: all are shown. */
  filters?: { shown: object; others: object }
  /** The index of the records that are shown, by EHR, newest first. */
  ehrIndex: ViewIndex
  /** The index of the records that are shown, by the values of a field across all EHRs. */
  indexOf(field: string): ViewIndex | undefined
  toComposition(record: ParseDocument): RmObject
  /** A record with a value in every element: numbers are 1, times 1970. */
  example: ParseDocument
  /** The operational template of its compositions (OPT 1.4). */
  createTemplate(): string
}

/** An index. Its key is the hint of a query, since `syncIndexes` gives a changed index another name. */
export interface ViewIndex {
  name: string
  key: Readonly<Record<string, 1 | -1>>
}

/** A number or time in the entry of a composition, and the field that has it. */
interface ViewValue {
  field: string
  /** Attributes from the entry on. */
  path: string
  /** The node of the last attribute. */
  nodeId?: string
}

/** The common values of all compositions of a view, by the stored fields of compositions. */
export interface CompositionHead {
  archetypes: readonly string[]
  templateId: string
  name: string
}
