import type { Person } from '../../harness/people/people.ts'

/** A person with the pages that they have. */
export interface Visitor {
  who: Person
  /** The address of each page, by a name that stays the same; and what to look for on it. */
  pages: [name: string, path: string, search?: string][]
}
