import { documentsOf } from '../../store/documents/database.ts'
import type { Records } from '../../store/writing/transaction.ts'
import { Composition, FACTS_INDEX } from '../composition-record.ts'
import { indexedIn } from './facts.ts'

/** Compositions that are read at once; each may have 4 MB. */
const BATCH = 50

/**
 * Gives those compositions their facts that were stored before there were any. They are what an index needs, no change of the
 * record: it keeps its version. Until all have them, no query may rely on them.
 */
export class FactsFilling {
  readonly #records: Pick<Records, 'db'>
  #isDone = false

  constructor(records: Pick<Records, 'db'>) {
    this.#records = records
  }

  get isDone(): boolean {
    return this.#isDone
  }

  /** Some after the other; what one run leaves undone, the next one finds. */
  async run(ending: AbortSignal): Promise<void> {
    while (!this.#isDone && !ending.aborted) this.#isDone = !(await this.#step())
  }

  /** @returns whether there was something to do */
  async #step(): Promise<boolean> {
    const documents = documentsOf(this.#records, Composition.collection)
    const options = { projection: { version: 1, json: 1 } }
    const found = await documents.find({ facts: null }, options).hint(FACTS_INDEX).limit(BATCH).toArray()
    const updates = found.map(({ _id, version, json }) => ({
      updateOne: {
        // Whoever replaces it meanwhile tells its facts.
        filter: { _id, version, facts: null },
        update: { $set: typeof json === 'string' ? indexedIn(JSON.parse(json)) : { facts: [] } },
      },
    }))
    if (updates.length > 0) await documents.bulkWrite(updates, { ordered: false })
    return updates.length > 0
  }
}
