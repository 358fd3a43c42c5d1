/** A condition of a search. */
export interface SearchCriterion {
  name: string
  modifier: string | undefined
  /** Alternatives, with their escapes. */
  values: readonly string[]
}

/** A search of one resource type. */
export interface ResourceSearch {
  criteria: readonly SearchCriterion[]
  /** undefined: the usual order of the type. */
  order: 'asc' | 'desc' | undefined
  count: number
  /** The position of the page. */
  after: string | undefined
  /** Also count all matches. */
  total: boolean
}
