import type { Static } from '@sinclair/typebox'
import type { IndexDescription } from 'mongodb'
import { EhrStatus } from '../../records/compositions/ehr-status-record.ts'
import { insertTargetFor } from '../../records/ehr-records/parents.ts'
import type { Ehrs, StoredEhr } from '../../records/ehrs/ehrs.ts'
import { ehrPermissions } from '../../records/ehrs/rights/access.ts'
import { findAnonymizedEhrs } from '../../records/ehrs/rights/anonymity.ts'
import type { Caller, Permissions } from '../../records/store/documents/caller.ts'
import { isDuplicateKeyError } from '../../records/store/documents/database.ts'
import type { SavedRecord } from '../../records/store/documents/parse-format.ts'
import { Store } from '../../records/store/store.ts'
import type { ExpectedVersions } from '../../records/store/write-decider.ts'
import {
  runStoreTransaction,
  type StoreContext,
  type Transaction,
} from '../../records/store/writing/transaction.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { valueAt } from '../compositions/read-composition.ts'
import { type RmObject, readCanonicalJson } from '../rm/canonical-json.ts'
import { defaultStatus, statusIdOf, toStatusResponse } from './ehr-status.ts'

type EhrStatusRecord = Static<typeof EhrStatus.schema>

interface VersionedStatus {
  object: RmObject
  version: number
}

/** The statuses of the EHRs, each with its versions. */
export class EhrStatuses {
  readonly #records: StoreContext
  readonly #ehrs: Ehrs
  readonly #store

  constructor(records: StoreContext, ehrs: Ehrs) {
    this.#records = records
    this.#ehrs = ehrs
    this.#store = new Store(records, EhrStatus)
  }

  indexes(): [collection: string, IndexDescription[]][] {
    return [this.#store.indexes()]
  }

  /**
   * Creates an EHR with the given status. The subject is the given one, otherwise the status's, otherwise the
   * caller.
   */
  create(
    caller: Caller,
    id: string,
    { subjectId, status }: { subjectId?: string | undefined; status?: unknown },
  ): Promise<StoredEhr> {
    const object = status === undefined ? undefined : readEhrStatus(status, 'status')
    const named = valueAt(object, 'subject', 'external_ref', 'id', 'value') as string | undefined
    const keep =
      object &&
      (async (tx: Transaction, permissions: Permissions) => {
        await this.#store.create(caller, toStatusRecord(id, object), permissions, { tx, id: statusIdOf(id) })
      })
    return this.#ehrs.create(caller, subjectId ?? named ?? caller.userId, id, keep)
  }

  /** @throws NotFound */
  async get(caller: Caller, ehrId: string): Promise<VersionedStatus> {
    const { subjectId } = await this.#ehrs.get(caller, ehrId)
    const unnamed = (await findAnonymizedEhrs(this.#records, caller)).has(ehrId)
    const found = await this.#find(caller, ehrId)
    const id = statusIdOf(ehrId)
    const version = found?.version ?? 1
    const object = found ? (JSON.parse(found.json) as RmObject) : defaultStatus(subjectId)
    return { object: toStatusResponse(object, { id, version, unnamed }), version }
  }

  /**
   * @throws NotFound; Forbidden if the caller may only read; InvalidInput; PreconditionFailed with the latest
   * version
   */
  async replace(
    caller: Caller,
    ehrId: string,
    sent: unknown,
    expected: ExpectedVersions,
  ): Promise<VersionedStatus> {
    const object = readEhrStatus(sent)
    const id = statusIdOf(ehrId)
    const { subjectId } = await this.#ehrs.get(caller, ehrId)
    const update = (tx?: Transaction) =>
      this.#store.update(caller, { id, ehrId }, (now) => ({ ...now, ...toStatusRecord(ehrId, object) }), {
        tx,
        expected,
      })
    const { version } = (await this.#find(caller, ehrId))
      ? await update()
      : await this.#createDefault(caller, { ehrId, subjectId }, update)
    return { object: toStatusResponse(object, { id, version, unnamed: false }), version }
  }

  async #find(caller: Caller, ehrId: string): Promise<SavedRecord<EhrStatusRecord> | undefined> {
    return (await this.#store.list(caller, 'ofEhr', { where: { ehrId }, limit: 1 })).items[0]
  }

  /**
   * Stores the default status as version 1, since clients have seen it, and the update as the next version.
   */
  #createDefault(
    caller: Caller,
    { ehrId, subjectId }: { ehrId: string; subjectId: string },
    update: (tx?: Transaction) => Promise<SavedRecord<EhrStatusRecord>>,
  ): Promise<SavedRecord<EhrStatusRecord>> {
    const id = statusIdOf(ehrId)
    const first = { ...toStatusRecord(ehrId, defaultStatus(subjectId)), id }
    const made = runStoreTransaction(this.#records, async (tx) => {
      await this.#store.createAll(
        caller,
        [first],
        insertTargetFor({ permissions: ehrPermissions }, id, { ehrId }),
        {
          tx,
        },
      )
      return update(tx)
    })
    return made.catch((error: unknown) => {
      if (isDuplicateKeyError(error)) return update()
      throw error
    })
  }
}

const toStatusRecord = (ehrId: string, { uid: _, ...object }: RmObject): EhrStatusRecord => ({
  ehrId,
  isQueryable: object.is_queryable === true,
  json: JSON.stringify(object),
})

/** @throws InvalidInput */
function readEhrStatus(sent: unknown, place = ''): RmObject {
  const { object, violations } = readCanonicalJson(sent, 'EHR_STATUS')
  if (object !== undefined && violations.length === 0) return object
  const placed = violations.map((one) => ({ ...one, path: [place, one.path].filter(Boolean).join('.') }))
  throw new ServiceError('InvalidInput', { violations: placed })
}
