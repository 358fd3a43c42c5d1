/** Time limit of a query. */
export const AQL_TIMEOUT_MS = 30_000

/** Advice when a query reaches it. */
export const TIMEOUT_ADVICE = 'The query took too long. Narrow it by an EHR, an archetype or a template.'
