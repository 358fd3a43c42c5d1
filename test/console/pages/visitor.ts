import type { Person } from '../../harness/people/people.ts'

/** A person who has something on each page of a role. */
export interface Visitor {
  who: Person
  /** The values of the braces in routes and searches. */
  ids: Readonly<Record<string, string>>
}

/** The name of a page, its route, and what to look for on it. */
export type PageOfRole = readonly [name: string, path: string, search?: string]

/** Fills in the ids that a text names in braces. */
export const fillIn = (text: string, { ids }: Visitor): string =>
  text.replace(/\{(\w+)\}/g, (_, name: string) => {
    const id = ids[name]
    if (id === undefined) throw new Error(`No ${name} for ${text}`)
    return id
  })
