import type { ObjectConstraint } from '../../opt/constraints.ts'

/** The facts about a value that are known before it is read. */
export interface ExpectedValue {
  rmType: string
  /** The attribute that has the value. */
  attribute: string
  constraint?: ObjectConstraint | undefined
  /** Whether a text may stand in the place of a coded text. */
  isOpen?: boolean | undefined
  /** The class of the bounds of an interval. */
  bounds?: string | undefined
}

/** The context of a reading. */
export interface Reading {
  /** The current time. */
  currentTime: string
  /** Defaults of `ctx/` for references to persons. */
  idScheme?: string | undefined
  idNamespace?: string | undefined
}
