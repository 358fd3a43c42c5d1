import type { Static } from '@sinclair/typebox'
import type { IndexDescription } from 'mongodb'
import { versionUidOf } from '../../records/compositions/composition-record.ts'
import { Contribution } from '../../records/compositions/contribution-record.ts'
import { Directory } from '../../records/compositions/directory-record.ts'
import { statusIdOf } from '../../records/compositions/ehr-status-record.ts'
import { insertTargetFor } from '../../records/ehr-records/parents/parents.ts'
import { auditRefusedCreation } from '../../records/ehr-records/refusals/refusals.ts'
import { ehrPermissions } from '../../records/ehrs/rights/access.ts'
import type { Caller, Permissions } from '../../records/store/documents/caller.ts'
import { documentCollection, isDuplicateKeyError } from '../../records/store/documents/database.ts'
import type { SavedRecord } from '../../records/store/documents/parse-format.ts'
import { Store } from '../../records/store/store.ts'
import {
  runStoreTransaction,
  type StoreContext,
  type Transaction,
} from '../../records/store/writing/transaction.ts'
import { isInputErrorName, ServiceError } from '../../schemas/errors.ts'
import { lookUp } from '../../schemas/validation/look-up.ts'
import type { CompositionContent } from '../compositions/compositions.ts'
import type { RmObject } from '../rm/canonical-json.ts'
import { codedText } from '../rm/values/coded-text.ts'
import { dvDateTime, toAuditDetails } from '../versions/original-version.ts'
import { CLASS_ADAPTERS, type VersionedStores } from './class-adapters.ts'
import { addClientAudit, type CommittedVersion, findClientAudits } from './client-audits.ts'
import {
  COMMIT_CODES,
  CREATION,
  DELETED,
  type SentAudit,
  type SentContribution,
  type SentVersion,
  type VersionedClass,
} from './contribution.ts'

type SavedContribution = SavedRecord<Static<typeof Contribution.schema>>

/** A contribution: its uid, AUDIT_DETAILS and versions. */
export interface CommittedContribution {
  uid: string
  audit: RmObject
  versions: Pick<CommittedVersion, 'uid' | 'type'>[]
}

/** A version that is ready to be written. */
interface PreparedVersion {
  sentVersion: SentVersion
  type: VersionedClass
  content: CompositionContent | undefined
  newUuid: string
}

interface CommitOptions {
  newUuid(): string
  isRetry: boolean
  /** The request is about one version: errors are those of its object, at places in its data. */
  isSingle?: boolean
}

/** The contributions: commits of several versions at once, and of single ones with an audit of the client. */
export class Contributions {
  readonly #context: StoreContext
  readonly #stores: VersionedStores
  readonly #store

  constructor(context: StoreContext, stores: VersionedStores) {
    this.#context = context
    this.#stores = stores
    this.#store = new Store(context, Contribution)
  }

  indexes(): [collection: string, IndexDescription[]][] {
    return [this.#store.indexes()]
  }

  /**
   * Commits all versions in one transaction, or none.
   * @throws InvalidInput with all violations; NotFound; Forbidden; Conflict when a preceding version is not the
   * latest one, or a uid is taken
   */
  commit(
    caller: Caller,
    ehrId: string,
    contribution: SentContribution,
    { newUuid, isRetry, isSingle = false }: CommitOptions,
  ): Promise<CommittedContribution> {
    const id = contribution.uid ?? newUuid()
    const locate = isSingle ? (error: unknown) => error : locateInVersion
    return auditRefusedCreation(this.#context, caller, Contribution.collection, ehrId, async () => {
      const preparedVersions = await this.#prepare(caller, ehrId, contribution.versions, newUuid, locate)
      try {
        return await runStoreTransaction(
          this.#context,
          (tx) => this.#write(caller, tx, { ehrId, id, audit: contribution.audit, locate }, preparedVersions),
          { admission: caller.admission },
        )
      } catch (error) {
        if (isRetry && (await this.#store.find(caller, { id, ehrId }))) return this.get(caller, ehrId, id)
        throw toContributionError(error, isSingle)
      }
    })
  }

  /**
   * The contribution with a uid. Those without an audit of the client have the uid of their version's object, with
   * its version as extension; with such a uid, a version that has an audit of the client shows its own contribution.
   * @throws NotFound
   */
  async get(caller: Caller, ehrId: string, uid: string): Promise<CommittedContribution> {
    const [id = '', version] = uid.split('::')
    if (version === undefined) return toCommitted(await this.#store.get(caller, { id, ehrId }))
    const versionKey = { id, version: Number(version) }
    const [commit] = (await findClientAudits(this.#context, [ehrId], [versionUidOf(versionKey)])).values()
    return commit
      ? this.get(caller, ehrId, commit.contributionId)
      : this.#getImplied(caller, ehrId, versionKey)
  }

  /** Stores the audit that a client sent with the status of an EHR that it creates. */
  async storeFirstStatusAudit(
    caller: Caller,
    { ehrId, id, audit, lifecycle }: { ehrId: string; id: string; audit: SentAudit; lifecycle: string },
    { tx, permissions }: { tx: Transaction; permissions: Permissions },
  ): Promise<void> {
    const uid = versionUidOf({ id: statusIdOf(ehrId), version: 1 })
    const details = toAudit(caller, audit, this.#context.clock())
    const version: CommittedVersion = { uid, type: 'EHR_STATUS', audit: details, lifecycle }
    const json = JSON.stringify({ audit: details, versions: [version] })
    await this.#store.create(caller, { ehrId, versions: [uid], json }, permissions, { tx, id })
  }

  /** Adds its contribution to an ORIGINAL_VERSION, and the audit that a client sent with it. */
  async addClientAudit(ehrId: string, version: { id: string; version: number }, object: RmObject) {
    const commits = await findClientAudits(this.#context, [ehrId], [versionUidOf(version)])
    return addClientAudit(object, version, commits)
  }

  /** Finds the audits that clients sent, by the uids of the versions. */
  async findClientAudits(ehrId: string, uids: readonly string[]): Promise<Map<string, RmObject>> {
    const commits = await findClientAudits(this.#context, [ehrId], uids)
    return new Map([...commits].map(([uid, { audit }]) => [uid, audit]))
  }

  /** Validates the data of all versions, before the transaction. */
  async #prepare(
    caller: Caller,
    ehrId: string,
    versions: readonly SentVersion[],
    newUuid: () => string,
    locate: LocateError,
  ): Promise<PreparedVersion[]> {
    const errors: unknown[] = []
    const preparedVersions: PreparedVersion[] = []
    for (const [i, sentVersion] of versions.entries()) {
      try {
        const type = sentVersion.type ?? (await this.#typeOf(ehrId, sentVersion.preceding?.id ?? ''))
        const content =
          type === 'COMPOSITION' && sentVersion.data
            ? await this.#stores.compositions.read(caller, sentVersion.data)
            : undefined
        preparedVersions.push({ sentVersion, type, content, newUuid: newUuid() })
      } catch (error) {
        if (!isInputError(error)) throw error
        errors.push(locate(error, i))
      }
    }
    const [first, ...others] = errors
    if (first !== undefined && others.length === 0) throw first
    if (first !== undefined)
      throw new ServiceError('InvalidInput', {
        violations: errors.flatMap((error) => (isInputError(error) ? error.violations : [])),
      })
    return preparedVersions
  }

  /** The class of the object with this id, if it exists. */
  async #typeOf(ehrId: string, id: string): Promise<VersionedClass> {
    if (id === statusIdOf(ehrId)) return 'EHR_STATUS'
    const directories = documentCollection(this.#context, Directory.collection)
    return (await directories.findOne({ _id: id, ehrId }, { projection: { _id: 1 } }))
      ? 'FOLDER'
      : 'COMPOSITION'
  }

  async #write(
    caller: Caller,
    tx: Transaction,
    { ehrId, id, audit, locate }: { ehrId: string; id: string; audit: SentAudit; locate: LocateError },
    preparedVersions: readonly PreparedVersion[],
  ): Promise<CommittedContribution> {
    const committedAt = this.#context.clock()
    const versions: CommittedVersion[] = []
    for (const [i, one] of preparedVersions.entries()) {
      const uid = await this.#writeVersion(caller, tx, ehrId, one).catch((error: unknown) => {
        throw locate(error, i)
      })
      const { sentVersion, type } = one
      versions.push({
        uid,
        type,
        audit: toAudit(caller, sentVersion.audit, committedAt),
        lifecycle: sentVersion.lifecycle,
      })
    }
    const json = JSON.stringify({ audit: toAudit(caller, audit, committedAt), versions })
    const target = insertTargetFor({ permissions: ehrPermissions }, id, { ehrId })
    const record = { id, ehrId, versions: versions.map(({ uid }) => uid), json }
    const [savedContribution] = await this.#store.createAll(caller, [record], target, { tx })
    return toCommitted(savedContribution as SavedContribution)
  }

  /** @returns the uid of the new version */
  async #writeVersion(
    caller: Caller,
    tx: Transaction,
    ehrId: string,
    { sentVersion, type, content, newUuid }: PreparedVersion,
  ): Promise<string> {
    const write = { tx, ehrId, sentVersion, content, newUuid }
    return versionUidOf(await CLASS_ADAPTERS[type].write(this.#stores, caller, write))
  }

  async #getImplied(
    caller: Caller,
    ehrId: string,
    versionKey: { id: string; version: number },
  ): Promise<CommittedContribution> {
    const type = await this.#typeOf(ehrId, versionKey.id)
    const { get, history } = CLASS_ADAPTERS[type]
    const version = await get(this.#stores, caller, ehrId, versionKey)
    const { items } = await history(this.#stores, caller, ehrId, versionKey.id)
    const commit = items.find((change) => change.version === versionKey.version)
    const uid = versionUidOf(versionKey)
    return {
      uid: `${versionKey.id}::${versionKey.version}`,
      audit: toAuditDetails(version, commit),
      versions: [{ uid, type }],
    }
  }
}

/** The actions of change types; all others are updates. */
const ACTIONS = { [CREATION]: 'create', [DELETED]: 'delete' } as const

/** The AUDIT_DETAILS of a commit: what the client sent, with the time and system of this service. */
function toAudit(
  caller: Caller,
  { changeType, committer, description }: SentAudit,
  committedAt: Date,
): RmObject {
  const action = lookUp(ACTIONS, changeType) ?? 'update'
  const serviceAudit = toAuditDetails(
    { version: 1, updatedAt: committedAt },
    { at: committedAt, userId: caller.userId, action },
  )
  return {
    ...serviceAudit,
    time_committed: dvDateTime(committedAt),
    change_type: codedText(COMMIT_CODES[changeType] ?? '', changeType),
    ...(committer && { committer }),
    ...(description && { description }),
  }
}

const toCommitted = ({ id, json }: SavedContribution): CommittedContribution => {
  const { audit, versions } = JSON.parse(json) as { audit: RmObject; versions: CommittedVersion[] }
  return { uid: id, audit, versions: versions.map(({ uid, type }) => ({ uid, type })) }
}

/** Says in which version of the contribution the violations of an error are. */
type LocateError = (error: unknown, version: number) => unknown

const isInputError = (error: unknown): error is ServiceError =>
  error instanceof ServiceError && isInputErrorName(error.error)

/** The places of violations that are not about an attribute of the data. */
const VERSION_PLACES = { compositionId: 'preceding_version_uid.value', data: 'data' }

/** ITS-REST has only a 400 for the contents of a contribution. */
const locateInVersion: LocateError = (error, version) =>
  isInputError(error)
    ? new ServiceError('InvalidInput', {
        violations: error.violations.map((one) => ({
          ...one,
          path: `versions.${version}.${lookUp(VERSION_PLACES, one.path) ?? `data.${one.path}`}`,
        })),
      })
    : error

/** In a contribution, the preceding version is part of the content. */
function toContributionError(error: unknown, isSingle: boolean): unknown {
  if (isDuplicateKeyError(error))
    return new ServiceError('Conflict', { detail: 'A uid of the contribution is taken.', cause: error })
  if (!isSingle && error instanceof ServiceError && error.version !== undefined)
    return new ServiceError('Conflict', {
      detail: 'A preceding version is not the latest one.',
      cause: error,
    })
  return error
}
