import { groupBy } from '../../../records/store/batching/group-by.ts'

/** Parse Server's query, as far as it replaces pointers by the objects that they lead to. */
export interface IncludingQuery {
  /** Paths of the pointers, the shortest first. */
  include: string[][]
  handleInclude(): Promise<void>
}

/**
 * Includes the paths below one property one after another. Parse Server reads them at the same time and each writes the
 * whole property, so that one of them may restore a pointer which another one has replaced.
 */
export function separateIncludes(query: IncludingQuery): void {
  const { handleInclude } = query
  query.handleInclude = async function () {
    const includeEach = async (paths: string[][]) => {
      for (const path of paths) {
        this.include = [path]
        await handleInclude.call(this)
      }
    }
    await Promise.all([...groupBy(this.include, ([property]) => property).values()].map(includeEach))
  }
}
