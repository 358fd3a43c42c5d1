import type { Static, TObject } from '@sinclair/typebox'
import { ServiceError } from '../../schemas/errors.ts'
import { type EhrRecordKey, type EhrRecordKind, EhrRecords } from '../ehr-records/ehr-records.ts'
import { requireReadableEhr } from '../ehr-records/parents/parents.ts'
import { auditRefusedCreation } from '../ehr-records/refusals/refusals.ts'
import type { Caller } from '../store/documents/caller.ts'
import { documentCollection } from '../store/documents/database.ts'
import type { SavedRecord } from '../store/documents/parse-format.ts'
import type { ExpectedVersions } from '../store/write-decider.ts'
import { findDeletedIds } from '../store/writing/history.ts'
import type { StoreContext } from '../store/writing/transaction.ts'

interface PutCondition {
  expected: ExpectedVersions
  /** Whether the record must not exist yet. */
  createOnly: boolean
}

/** The records of a kind of which an EHR has at most one for each natural key. */
export class NaturallyKeyedRecords<S extends TObject, L extends string> extends EhrRecords<S, L> {
  readonly #context: StoreContext

  constructor(context: StoreContext, kind: EhrRecordKind<S, L>) {
    super(context, kind)
    this.#context = context
  }

  /** The key of the record with these natural keys; if there is none, an empty id, which no record has. */
  async findKey(ehrId: string, values: object): Promise<EhrRecordKey> {
    const [id = ''] = await this.#findIds(ehrId, values)
    return { id, ehrId }
  }

  /** The same; without a record it is the key of the one that was deleted last, which can return. */
  async findKeyOrDeleted(ehrId: string, values: object): Promise<EhrRecordKey> {
    const key = await this.findKey(ehrId, values)
    return key.id === '' ? { id: await this.#findDeletedId(ehrId, values), ehrId } : key
  }

  /**
   * Replaces the record with the body's natural keys, or creates it.
   * @throws NotFound; Forbidden; PreconditionFailed; RuleViolated; Conflict when the keys belong to two
   * records
   */
  async put(
    caller: Caller,
    ehrId: string,
    body: object,
    condition: PutCondition,
    newId: () => string,
  ): Promise<{ record: SavedRecord<Static<S>>; created: boolean }> {
    const put = () => this.#putOnce(caller, ehrId, body, condition, newId())
    return put().catch((error) => {
      // A concurrent request has created the record, so that a second attempt finds it.
      if (error instanceof ServiceError && error.error === 'Conflict') return put()
      throw error
    })
  }

  async #putOnce(
    caller: Caller,
    ehrId: string,
    body: object,
    { expected, createOnly }: PutCondition,
    newId: string,
  ): Promise<{ record: SavedRecord<Static<S>>; created: boolean }> {
    const [id, another] = await this.#findIds(ehrId, body)
    if (another !== undefined)
      throw new ServiceError('Conflict', {
        detail: 'The identifiers belong to two different records. Send those of one.',
      })
    if (id !== undefined) {
      const record = await this.replace(caller, { id, ehrId }, body, { expected: createOnly ? [] : expected })
      return { record, created: false }
    }
    if (expected !== undefined)
      await auditRefusedCreation(this.#context, caller, this.kind.collection, ehrId, async () => {
        await requireReadableEhr(this.#context, caller, ehrId)
        throw new ServiceError('PreconditionFailed')
      })
    return { record: await this.create(caller, { ehrId }, body, newId), created: true }
  }

  /** Ignores permissions; the operations check them for the ids that this returns. */
  async #findIds(ehrId: string, values: object): Promise<string[]> {
    const documents = this.#documents.find({ ehrId, knownBy: { $in: this.#keysOf(values) } })
    return (await documents.project({ _id: 1 }).limit(2).toArray()).map(({ _id }) => String(_id))
  }

  /** A record that was deleted may exist again, with other natural keys. */
  async #findDeletedId(ehrId: string, values: object): Promise<string> {
    const scope = { ehrId, collection: this.kind.collection }
    const deletedIds = await findDeletedIds(this.#context.db, scope, this.#keysOf(values))
    const existing = await this.#documents.distinct('_id', { _id: { $in: deletedIds } })
    return deletedIds.find((id) => !existing.includes(id)) ?? ''
  }

  get #documents() {
    return documentCollection(this.#context, this.kind.collection)
  }

  #keysOf(values: object): string[] {
    const keys = Object.entries(values).filter(([, value]) => value !== null)
    return this.kind.naturalKey?.keysOf(Object.fromEntries(keys)) ?? []
  }
}
