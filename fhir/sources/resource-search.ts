/** A condition of a search. */
export interface SearchCriterion {
  name: string
  modifier: string | undefined
  /** Alternatives, with their escapes. */
  values: readonly string[]
}

/** A criterion without a modifier, with each value once. */
export const criterionOf = (name: string, values: Iterable<string>): SearchCriterion => ({
  name,
  modifier: undefined,
  values: [...new Set(values)],
})

/** The criteria of a search. */
export interface SearchCriteria {
  criteria: readonly SearchCriterion[]
}

/** A search of one resource type. */
export interface ResourceSearch extends SearchCriteria {
  /** undefined: the usual order of the type. */
  order: 'asc' | 'desc' | undefined
  count: number
  /** The position of the page. */
  after: string | undefined
  /** Also count all matches. */
  total: boolean
}
