import { type Database, documentCollection } from '../documents/database.ts'

const MAX_PER_RUN = 100
const MAX_FAILED = 1_000

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

  /** Carries out the due steps, each by itself. @returns the errors of those that failed */
  async run(now: Date, step: (id: string) => Promise<unknown>): Promise<unknown[]> {
    const failedIds = [...this.#failed].slice(0, MAX_PER_RUN)
    const due = await this.#findDue(now, { $nin: [...this.#failed] })
    if (failedIds.length > 0) due.push(...(await this.#findDue(now, { $in: failedIds })))
    for (const id of failedIds) this.#failed.delete(id)
    return runEach(due, async (id) => {
      try {
        await step(id)
      } catch (error) {
        if (this.#failed.size < MAX_FAILED) this.#failed.add(id)
        throw error
      }
    })
  }

  async #findDue(now: Date, _id: { $in: string[] } | { $nin: string[] }): Promise<string[]> {
    const due = await documentCollection(this.#database, this.#collection)
      .find({ _id, [this.#field]: { $lte: now } }, { projection: { _id: 1 } })
      .sort({ [this.#field]: 1 })
      .limit(MAX_PER_RUN)
      .toArray()
    return due.map((one) => one._id)
  }
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
