/**
 * How AQL shows a record: as an EVALUATION of an archetype of ours, with an ELEMENT for each field
 * (docs/decisions/openehr.md).
 */
export interface EvaluationForm {
  /** The concept of the archetype `openEHR-EHR-EVALUATION.hrs_<concept>.v1`, and the name of the kind in paths. */
  concept: string
  /** Their nodes are at0002, at0003 and so on, so a new one comes last. */
  elements: readonly EvaluationElement[]
}

/** A field as an ELEMENT; its schema decides about the data value. */
export interface EvaluationElement {
  field: string
  name: string
  /** The field with the code of its text. */
  code?: string
}
