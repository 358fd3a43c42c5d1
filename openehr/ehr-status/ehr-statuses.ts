import type { Static } from '@sinclair/typebox'
import type { IndexDescription } from 'mongodb'
import { EhrStatus, statusIdOf } from '../../records/compositions/ehr-status-record.ts'
import { insertTargetFor } from '../../records/ehr-records/parents.ts'
import { auditRefusal, requireNoViolations } from '../../records/ehr-records/refusals/refusals.ts'
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
import { type RmObject, readCanonicalJson } from '../rm/canonical-json.ts'
import { defaultStatus, namedSubjectOf, toStatusResponse } from './ehr-status.ts'

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
    const of = subjectId ?? namedSubjectOf(object) ?? caller.userId
    requireSubject(object, of, 'status.')
    const keep =
      object &&
      (async (tx: Transaction, permissions: Permissions) => {
        await this.#store.create(caller, toStatusRecord(id, object), permissions, { tx, id: statusIdOf(id) })
      })
    return this.#ehrs.create(caller, of, id, keep)
  }

  /** @throws NotFound */
  async get(caller: Caller, ehrId: string): Promise<VersionedStatus> {
    const ehr = await this.#ehrs.get(caller, ehrId)
    const unnamed = (await findAnonymizedEhrs(this.#records, caller)).has(ehrId)
    const stored = await this.#store.find(caller, { id: statusIdOf(ehrId), ehrId })
    const id = statusIdOf(ehrId)
    const version = stored?.version ?? 1
    const subjectId = unnamed ? undefined : ehr.subjectId
    const object = stored ? (JSON.parse(stored.json) as RmObject) : defaultStatus(ehr.subjectId)
    return { object: toStatusResponse(object, { id, version, subjectId }), version }
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
    const { subjectId } =
      (await this.#ehrs.store.find(caller, { id: ehrId })) ?? (await this.#ehrs.get(caller, ehrId))
    const update = (tx?: Transaction) => {
      const change = (now: SavedRecord<EhrStatusRecord>) => {
        requireSubject(object, subjectId)
        return { ...now, ...toStatusRecord(ehrId, object) }
      }
      return this.#store.update(caller, { id, ehrId }, change, { tx, expected })
    }
    const { version } = (await this.#store.find(caller, { id, ehrId }))
      ? await update()
      : await this.#createDefault(caller, { ehrId, subjectId, object }, update)
    return { object: toStatusResponse(object, { id, version, subjectId }), version }
  }

  /**
   * Stores the default status as version 1, since clients have seen it, and the update as the next version.
   */
  #createDefault(
    caller: Caller,
    { ehrId, subjectId, object }: { ehrId: string; subjectId: string; object: RmObject },
    update: (tx?: Transaction) => Promise<SavedRecord<EhrStatusRecord>>,
  ): Promise<SavedRecord<EhrStatusRecord>> {
    const id = statusIdOf(ehrId)
    const first = { ...toStatusRecord(ehrId, defaultStatus(subjectId)), id }
    const made = auditRefusal(this.#records, caller, EhrStatus.collection, ehrId, () =>
      runStoreTransaction(this.#records, async (tx) => {
        const place = insertTargetFor({ permissions: ehrPermissions }, id, { ehrId })
        await this.#store.createAll(caller, [first], place, { tx })
        requireSubject(object, subjectId)
        return update(tx)
      }),
    )
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

/** The subject of an EHR decides to whom its data belong, so a status cannot name another. @throws RuleViolated */
function requireSubject(status: RmObject | undefined, subjectId: string, place = ''): void {
  const message = 'must be the subject of the EHR, or left out'
  if ((namedSubjectOf(status) ?? subjectId) !== subjectId)
    requireNoViolations([{ path: `${place}subject.external_ref.id.value`, code: 'subject', message }])
}

/** @throws InvalidInput */
function readEhrStatus(sent: unknown, place = ''): RmObject {
  const { object, violations } = readCanonicalJson(sent, 'EHR_STATUS')
  if (object !== undefined && violations.length === 0) return object
  const placed = violations.map((one) => ({ ...one, path: [place, one.path].filter(Boolean).join('.') }))
  throw new ServiceError('InvalidInput', { violations: placed })
}
