import type { Static, TObject } from '@sinclair/typebox'
import { ServiceError } from '../../schemas/errors.ts'
import { type Holders, type Key, Registered, type RegisteredKind } from '../registered/registered.ts'
import type { Expected } from '../store/decisions.ts'
import type { Caller } from '../store/documents/caller.ts'
import { documentsOf } from '../store/documents/database.ts'
import type { Saved } from '../store/documents/parse-format.ts'
import type { Records } from '../store/writing/transaction.ts'

interface Condition {
  expected: Expected
  /** Whether only a new one is wanted. */
  createOnly: boolean
}

/** The records of a kind of which an EHR has one for each of what they are known by. */
export class KnownRecords<S extends TObject, L extends string> extends Registered<S, L> {
  readonly #records: Records
  readonly #holders: Holders

  constructor(records: Records, kind: RegisteredKind<S, L>, holders: Holders) {
    super(records, kind, holders)
    this.#records = records
    this.#holders = holders
  }

  /** The key of the record that these values name; of none an id that no record has. */
  async keyOf(ehrId: string, values: object): Promise<Key> {
    const [id = ''] = await this.#idsOf(ehrId, values)
    return { id, ehrId }
  }

  /**
   * Replaces the record that the body names, or makes it.
   * @throws NotFound; Forbidden; PreconditionFailed; RuleViolated; Conflict when it names two
   */
  async put(
    caller: Caller,
    ehrId: string,
    body: object,
    condition: Condition,
    newId: () => string,
  ): Promise<{ record: Saved<Static<S>>; created: boolean }> {
    const put = () => this.#putOnce(caller, ehrId, body, condition, newId())
    return put().catch((error) => {
      // Somebody else has made it at the same instant: now it is there.
      if (error instanceof ServiceError && error.error === 'Conflict') return put()
      throw error
    })
  }

  async #putOnce(
    caller: Caller,
    ehrId: string,
    body: object,
    { expected, createOnly }: Condition,
    newId: string,
  ): Promise<{ record: Saved<Static<S>>; created: boolean }> {
    const [id, another] = await this.#idsOf(ehrId, body)
    if (another !== undefined)
      throw new ServiceError('Conflict', { detail: 'The identifiers belong to two different records.' })
    if (id !== undefined) {
      const record = await this.replace(caller, { id, ehrId }, body, { expected: createOnly ? [] : expected })
      return { record, created: false }
    }
    if (expected !== undefined) {
      await this.#holders.ehr(caller, ehrId)
      throw new ServiceError('PreconditionFailed')
    }
    return { record: await this.create(caller, { ehrId }, body, newId), created: true }
  }

  /** Whoever asks: what they may do with them is asked by their ids. */
  async #idsOf(ehrId: string, values: object): Promise<string[]> {
    const given = Object.entries(values).filter(([, value]) => value !== null)
    const knownBy = { $in: this.kind.known?.as(Object.fromEntries(given)) ?? [] }
    const found = documentsOf(this.#records, this.kind.collection).find({ ehrId, knownBy })
    return (await found.project({ _id: 1 }).limit(2).toArray()).map(({ _id }) => String(_id))
  }
}
