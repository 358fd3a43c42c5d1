import type { Person } from '../../harness/people/people.ts'

/** A person with the pages that they have. */
export interface Visitor {
  who: Person
  /** The address of each page, by a name that stays the same. */
  pages: [name: string, path: string][]
}
