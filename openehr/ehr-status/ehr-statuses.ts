import type { Static } from '@sinclair/typebox'
import type { IndexDescription } from 'mongodb'
import { EhrStatus, statusIdOf } from '../../records/compositions/ehr-status-record.ts'
import { insertTargetFor } from '../../records/ehr-records/parents/parents.ts'
import { auditRefusedCreation, requireNoViolations } from '../../records/ehr-records/refusals/refusals.ts'
import type { Ehrs, StoredEhr } from '../../records/ehrs/ehrs.ts'
import { ehrPermissions, isSystemId } from '../../records/ehrs/rights/access.ts'
import { findAnonymizedEhrs } from '../../records/ehrs/rights/anonymity.ts'
import { type Caller, type Permissions, serviceCaller } from '../../records/store/documents/caller.ts'
import { isDuplicateKeyError } from '../../records/store/documents/database.ts'
import type { ParseDocument, SavedRecord } from '../../records/store/documents/parse-format.ts'
import type { PageRequest } from '../../records/store/reading/pages.ts'
import { Store } from '../../records/store/store.ts'
import type { ExpectedVersions } from '../../records/store/write-decider.ts'
import type { RecordParent } from '../../records/store/writing/batch-writer.ts'
import {
  runStoreTransaction,
  type StoreContext,
  type Transaction,
} from '../../records/store/writing/transaction.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { valueAt } from '../compositions/read-composition.ts'
import { type RmObject, readCanonicalJson } from '../rm/canonical-json.ts'
import { readVersion, type VersionSelector } from '../versions/read-version.ts'
import { defaultStatus, toStatusResponse } from './ehr-status.ts'
import { type NamedSubject, namesSubject, subjectIdOf, subjectOfStatus } from './subject.ts'

type EhrStatusRecord = Static<typeof EhrStatus.schema>

interface VersionedStatus {
  /** Id of the versioned object. */
  id: string
  object: RmObject
  version: number
  updatedAt: string
}

/** The statuses of the EHRs, each with its versions. */
export class EhrStatuses {
  readonly #context: StoreContext
  readonly #ehrs: Ehrs
  readonly #store

  constructor(context: StoreContext, ehrs: Ehrs) {
    this.#context = context
    this.#ehrs = ehrs
    this.#store = new Store(context, EhrStatus)
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
    const newSubjectId = subjectId ?? subjectOfStatus(object)?.id ?? caller.userId
    requireSubject(object, newSubjectId, 'status.')
    return this.#ehrs.create(caller, newSubjectId, id, object && this.#createFirst(caller, id, object))
  }

  /**
   * Creates the only EHR of the caller about a subject. Without a status, or with one that names nobody, a user
   * is the subject, and the EHR of a connected system is about an unnamed person.
   * @param input canonical JSON of an EHR_STATUS
   * @param storeAudit stores the audit that the client sent
   * @throws InvalidInput; Conflict when the id is taken or the caller can write an EHR about the subject
   */
  createOnly(
    caller: Caller,
    id: string,
    input: unknown,
    storeAudit?: (tx: Transaction, permissions: Permissions) => Promise<void>,
  ): Promise<StoredEhr> {
    const isSystem = isSystemId(caller.userId)
    const object =
      input === undefined
        ? { ...defaultStatus(caller.userId), ...(isSystem && { subject: { _type: 'PARTY_SELF' } }) }
        : readEhrStatus(requireType(input))
    const subject = subjectOfStatus(object)
    const defaultSubjectId = isSystem ? `unnamed::${id}` : caller.userId
    const subjectId = subject ? subjectIdOf(subject) : defaultSubjectId
    requireSubjectId(subjectId, subject)
    const createFirst = this.#createFirst(caller, id, object)
    return this.#ehrs.createOnly(caller, subjectId, id, async (tx, permissions) => {
      await createFirst(tx, permissions)
      await storeAudit?.(tx, permissions)
    })
  }

  #createFirst(caller: Caller, ehrId: string, object: RmObject) {
    return async (tx: Transaction, permissions: Permissions): Promise<void> => {
      const id = statusIdOf(ehrId)
      await this.#store.create(caller, toStatusRecord(ehrId, object), permissions, { tx, id })
    }
  }

  /** @throws NotFound, also for an unknown version */
  async get(caller: Caller, ehrId: string, selector: VersionSelector = {}): Promise<VersionedStatus> {
    const ehr = await this.#ehrs.get(caller, ehrId)
    const isAnonymized = (await findAnonymizedEhrs(this.#context, caller)).has(ehrId)
    const id = statusIdOf(ehrId)
    const storedStatus = await this.#store.find(caller, { id, ehrId })
    const latest = storedStatus ?? toFirstStatus(ehr)
    const { version, updatedAt, json } = await readVersion(latest, selector, async (former) =>
      storedStatus ? this.#store.findFormerVersion(caller, storedStatus, former) : undefined,
    )
    const subjectId = isAnonymized ? undefined : ehr.subjectId
    const object = toStatusResponse(JSON.parse(json) as RmObject, { id, version, subjectId })
    return { id, object, version, updatedAt }
  }

  /** The versions with author and time, newest first. @throws NotFound */
  async history(caller: Caller, ehrId: string, page: PageRequest) {
    const id = statusIdOf(ehrId)
    if (await this.#store.find(caller, { id, ehrId })) return this.#store.history(caller, { id, ehrId }, page)
    const { creatorId, createdAt, subjectId } = await this.#ehrs.get(caller, ehrId)
    const change = { userId: creatorId ?? subjectId, action: 'create' as const, version: 1, at: createdAt }
    return { items: [change], next: null }
  }

  /** @throws NotFound; Conflict when the status of the EHR forbids changes of its contents */
  async requireModifiable(caller: Caller, ehrId: string): Promise<void> {
    const storedStatus = await this.#store.find(caller, { id: statusIdOf(ehrId), ehrId })
    if (storedStatus) requireModifiableStatus(storedStatus)
  }

  /** Checks the same when a record is added to the EHR, and reads the status together with it. */
  whenModifiable(target: RecordParent): RecordParent {
    const localField = target.collection === 'Ehr' ? '_id' : 'ehrId'
    const permissions = (parentDocument: ParseDocument): Permissions => {
      for (const status of parentDocument[STATUS_FIELD] as { json: string }[]) requireModifiableStatus(status)
      return target.permissions(parentDocument)
    }
    const joined = { from: EhrStatus.collection, localField, foreignField: 'ehrId', as: STATUS_FIELD }
    return { ...target, joined, permissions }
  }

  /**
   * @throws NotFound; Forbidden if the caller may only read; InvalidInput; PreconditionFailed with the latest
   * version
   */
  async replace(
    caller: Caller,
    ehrId: string,
    input: unknown,
    expected: ExpectedVersions,
    outer?: Transaction,
  ): Promise<VersionedStatus> {
    const object = readEhrStatus(input)
    const id = statusIdOf(ehrId)
    const ehr = (await this.#ehrs.store.find(caller, { id: ehrId })) ?? (await this.#ehrs.get(caller, ehrId))
    const update = (tx?: Transaction) => {
      const change = (latest: SavedRecord<EhrStatusRecord>) => {
        requireSubject(object, ehr.subjectId)
        return { ...latest, ...toStatusRecord(ehrId, object) }
      }
      return this.#store.update(caller, { id, ehrId }, change, { tx, expected })
    }
    const { version, updatedAt } = (await this.#store.find(caller, { id, ehrId }))
      ? await update(outer)
      : await this.#createDefault(caller, { ehr, object }, update, outer)
    const response = toStatusResponse(object, { id, version, subjectId: ehr.subjectId })
    return { id, object: response, version, updatedAt }
  }

  /**
   * Stores the default status as version 1 of the EHR's creator, since clients have seen it, and the update as the next
   * version.
   */
  #createDefault(
    caller: Caller,
    { ehr, object }: { ehr: StoredEhr; object: RmObject },
    update: (tx?: Transaction) => Promise<SavedRecord<EhrStatusRecord>>,
    outer: Transaction | undefined,
  ): Promise<SavedRecord<EhrStatusRecord>> {
    const { id: ehrId, subjectId, creatorId = subjectId, createdAt } = ehr
    const id = statusIdOf(ehrId)
    const status = { ...toStatusRecord(ehrId, defaultStatus(subjectId)), id }
    const commit = { at: new Date(createdAt), caller: { ...serviceCaller, userId: creatorId } }
    const createAndUpdate = async (tx: Transaction) => {
      const target = insertTargetFor({ permissions: ehrPermissions }, id, { ehrId })
      await this.#store.createAll(caller, [status], target, { tx, first: { version: 1, commit } })
      requireSubject(object, subjectId)
      return update(tx)
    }
    if (outer) return createAndUpdate(outer)
    const creation = auditRefusedCreation(this.#context, caller, EhrStatus.collection, ehrId, () =>
      runStoreTransaction(this.#context, createAndUpdate),
    )
    return creation.catch((error: unknown) => {
      if (isDuplicateKeyError(error)) return update()
      throw error
    })
  }
}

const STATUS_FIELD = 'ehrStatus'

/** @throws Conflict */
function requireModifiableStatus({ json }: { json: string }): void {
  if (JSON.parse(json).is_modifiable === false)
    throw new ServiceError('Conflict', {
      detail: 'The status of the EHR does not allow modification: set is_modifiable to true first.',
    })
}

/** The status of an EHR until a client sets one. */
const toFirstStatus = ({ subjectId, createdAt }: StoredEhr) => ({
  version: 1,
  updatedAt: createdAt,
  json: JSON.stringify(defaultStatus(subjectId)),
})

/** @throws InvalidInput for a subject without a namespace, or one that is too long to be stored */
function requireSubjectId(subjectId: string, subject: NamedSubject | undefined): void {
  const isFit = subjectId.length <= MAX_SUBJECT_ID_LENGTH && !/\p{Cc}/u.test(subjectId)
  if (isFit && subject?.namespace !== '') return
  const message = `and its namespace must have 1 to ${MAX_SUBJECT_ID_LENGTH} characters, without line breaks`
  throw new ServiceError('InvalidInput', {
    violations: [{ path: 'subject.external_ref.id.value', code: 'length', message }],
  })
}

const MAX_SUBJECT_ID_LENGTH = 200

const toStatusRecord = (ehrId: string, { uid: _, ...object }: RmObject): EhrStatusRecord => ({
  ehrId,
  isQueryable: object.is_queryable === true,
  json: JSON.stringify(object),
})

/** The subject of an EHR decides to whom its data belong, so a status cannot name another. @throws RuleViolated */
function requireSubject(status: RmObject | undefined, subjectId: string, place = ''): void {
  const message = 'must be the subject of the EHR, or left out'
  if (!namesSubject(status, subjectId))
    requireNoViolations([{ path: `${place}subject.external_ref.id.value`, code: 'subject', message }])
}

/** ITS-REST requires the type of a body. @throws InvalidInput */
function requireType(input: unknown): unknown {
  if (valueAt(input, '_type') !== undefined) return input
  const violation = { path: '_type', code: 'required', message: 'is required' }
  throw new ServiceError('InvalidInput', { violations: [violation] })
}

/** @throws InvalidInput */
function readEhrStatus(input: unknown, place = ''): RmObject {
  const { object, violations } = readCanonicalJson(input, 'EHR_STATUS')
  if (object !== undefined && violations.length === 0) return object
  const prefixedViolations = violations.map((one) => ({
    ...one,
    path: [place, one.path].filter(Boolean).join('.'),
  }))
  throw new ServiceError('InvalidInput', { violations: prefixedViolations })
}
