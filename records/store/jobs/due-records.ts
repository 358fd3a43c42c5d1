import { type Database, documentCollection } from '../documents/database.ts'
import type { ParseDocument } from '../documents/parse-format.ts'

/** Steps between two looks at what is due; nobody waits for more steps of another EHR than this. */
const MAX_PER_PAGE = 20
const MAX_FAILED = 1_000

/** The outcome of a page of steps. */
interface DuePage {
  /** The errors of the steps that failed. */
  errors: unknown[]
  /** Whether more steps may be due. */
  isFull: boolean
}

/** The records of a collection whose next step is due at the time in a field. The step must change that time. */
export class DueRecords {
  readonly #database: Pick<Database, 'db'>
  readonly #collection: string
  readonly #field: string
  /** Records whose last step failed, the earliest first. The others come before them, so that they do not wait for ever. */
  readonly #failed = new Set<string>()

  constructor(database: Pick<Database, 'db'>, collection: string, field: string) {
    this.#database = database
    this.#collection = collection
    this.#field = field
  }

  /** Carries out a page of due steps, each by itself: one of each EHR, then the next one of each. */
  async runPage(now: Date, step: (id: string) => Promise<unknown>): Promise<DuePage> {
    const failedIds = [...this.#failed].slice(0, MAX_PER_PAGE)
    const due = await this.#findDue(now, { $nin: [...this.#failed] })
    const isFull = due.length === MAX_PER_PAGE && this.#failed.size < MAX_FAILED
    if (!isFull && failedIds.length > 0) {
      due.push(...(await this.#findDue(now, { $in: failedIds })))
      for (const id of failedIds) this.#failed.delete(id)
    }
    const errors = await runEach(due, async (id) => {
      try {
        await step(id)
      } catch (error) {
        if (this.#failed.size < MAX_FAILED) this.#failed.add(id)
        throw error
      }
    })
    return { errors, isFull }
  }

  /** Finds the earliest steps, by turns of the EHRs: the many steps of one do not delay those of the others. */
  async #findDue(now: Date, _id: { $in: string[] } | { $nin: string[] }): Promise<string[]> {
    const idsByEhr = new Map<unknown, string[]>()
    let page: ParseDocument[]
    do {
      const due = { _id, [this.#field]: { $lte: now }, ehrId: { $nin: [...idsByEhr.keys()] } }
      page = await documentCollection(this.#database, this.#collection)
        .find(due, { projection: { ehrId: 1 } })
        .sort({ [this.#field]: 1 })
        .limit(MAX_PER_PAGE)
        .toArray()
      for (const { _id: id, ehrId = null } of page) idsByEhr.set(ehrId, [...(idsByEhr.get(ehrId) ?? []), id])
    } while (page.length === MAX_PER_PAGE && idsByEhr.size < MAX_PER_PAGE)
    const turns = Array.from({ length: MAX_PER_PAGE }, (_, turn) =>
      [...idsByEhr.values()].flatMap((ids) => ids.slice(turn, turn + 1)),
    )
    return turns.flat().slice(0, MAX_PER_PAGE)
  }
}

/**
 * Carries out pages of steps until none is full.
 * @param ending ends it after the current page
 * @throws AggregateError with the errors of all steps
 */
export async function runPages(
  runPage: () => Promise<DuePage>,
  message: string,
  ending?: AbortSignal,
): Promise<void> {
  const errors: unknown[] = []
  let page: DuePage
  do {
    page = await runPage()
    errors.push(...page.errors)
  } while (page.isFull && !ending?.aborted)
  throwErrors(errors, message)
}

/** Carries out a step for each id, also after one that failed. @returns the errors */
export async function runEach(
  ids: Iterable<string> | AsyncIterable<string>,
  step: (id: string) => Promise<unknown>,
): Promise<unknown[]> {
  const errors: unknown[] = []
  for await (const id of ids) await step(id).catch((error) => errors.push(error))
  return errors
}

/** @throws AggregateError unless there are no errors */
export function throwErrors(errors: readonly unknown[], message: string): void {
  if (errors.length > 0) throw new AggregateError(errors, message)
}
