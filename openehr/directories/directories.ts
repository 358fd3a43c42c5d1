import type { Static } from '@sinclair/typebox'
import type { Filter, IndexDescription } from 'mongodb'
import { parseVersionUid } from '../../records/compositions/composition-record.ts'
import { Directory } from '../../records/compositions/directory-record.ts'
import { insertTargetFor } from '../../records/ehr-records/parents/parents.ts'
import { auditRefusedCreation } from '../../records/ehr-records/refusals/refusals.ts'
import { ehrPermissions } from '../../records/ehrs/rights/access.ts'
import { type Caller, permissionFilter } from '../../records/store/documents/caller.ts'
import { canRead, documentCollection, isDuplicateKeyError } from '../../records/store/documents/database.ts'
import type { ParseDocument, SavedRecord } from '../../records/store/documents/parse-format.ts'
import type { PageRequest } from '../../records/store/reading/pages.ts'
import { Store } from '../../records/store/store.ts'
import type { ExpectedVersions } from '../../records/store/write-decider.ts'
import type { StoreContext, Transaction } from '../../records/store/writing/transaction.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { isUuid, toLowerCaseUuid } from '../../schemas/validation/uuid.ts'
import { valueAt } from '../compositions/read-composition.ts'
import type { RmObject } from '../rm/canonical-json.ts'
import { objectVersionId } from '../versions/original-version.ts'
import { readVersion, type VersionSelector, withVersionUid } from '../versions/read-version.ts'
import { readFolder, withFolderUids } from './folders.ts'

export type SavedDirectory = SavedRecord<Static<typeof Directory.schema>>

/** Returns the versions of a directory that may be overwritten. */
type ExpectedOf = (id: string) => ExpectedVersions

/** The directories of the EHRs: of each EHR one tree of folders, with its versions. */
export class Directories {
  readonly #context: StoreContext
  readonly #store

  constructor(context: StoreContext) {
    this.#context = context
    this.#store = new Store(context, Directory)
  }

  indexes(): [collection: string, IndexDescription[]][] {
    return [this.#store.indexes()]
  }

  /**
   * Creates the directory of an EHR. After a deletion it continues the versions of the former one.
   * @throws InvalidInput; NotFound; Forbidden; Conflict when the EHR has a directory, or the uid is taken
   */
  create(
    caller: Caller,
    ehrId: string,
    input: unknown,
    { newUuid, isRetry }: { newUuid: string; isRetry: boolean },
    tx?: Transaction,
  ): Promise<SavedDirectory> {
    const folder = readFolder(input)
    return auditRefusedCreation(this.#context, caller, Directory.collection, ehrId, async () => {
      const existing = await this.#find(caller, ehrId)
      const id = sentIdOf(folder) ?? existing?.id ?? newUuid
      if (existing && isRetry && existing.id === id && existing.json !== undefined)
        return this.#store.get(caller, { id, ehrId })
      if (existing && (existing.json !== undefined || existing.id !== id)) throw existsError()
      const json = toJson(folder, id)
      if (existing) return this.#store.update(caller, { id, ehrId }, () => ({ ehrId, json }), { tx })
      const target = insertTargetFor({ permissions: ehrPermissions }, id, { ehrId })
      try {
        const [directory] = await this.#store.createAll(caller, [{ id, ehrId, json }], target, { tx })
        return directory as SavedDirectory
      } catch (error) {
        throw isDuplicateKeyError(error) && !tx ? existsError(error) : error
      }
    })
  }

  /** @throws NotFound, also for an unknown version, and without a directory */
  async get(
    caller: Caller,
    ehrId: string,
    { id: requestedId, ...selector }: VersionSelector & { id?: string | undefined } = {},
  ): Promise<SavedDirectory> {
    const directoryId = (await this.#find(caller, ehrId))?.id ?? NO_DIRECTORY
    const id = (requestedId ?? directoryId) === directoryId ? directoryId : NO_DIRECTORY
    const latest = await this.#store.get(caller, { id, ehrId })
    return readVersion(latest, selector, (version) => this.#store.findFormerVersion(caller, latest, version))
  }

  /** The latest version, unless it is deleted, for an EHR that the caller has read. */
  async findLatest(caller: Caller, ehrId: string): Promise<SavedDirectory | undefined> {
    const latest = await this.#find(caller, ehrId)
    return latest?.json === undefined ? undefined : latest
  }

  /** The versions with author and time, newest first. @throws NotFound */
  async history(caller: Caller, ehrId: string, page: PageRequest) {
    const { id } = await this.get(caller, ehrId)
    return this.#store.history(caller, { id, ehrId }, page)
  }

  /** @throws InvalidInput; NotFound for a deleted directory; Forbidden; PreconditionFailed, also without one */
  async replace(
    caller: Caller,
    ehrId: string,
    input: unknown,
    expectedOf: ExpectedOf,
    tx?: Transaction,
  ): Promise<SavedDirectory> {
    const folder = readFolder(input)
    const { id } = await this.#requireExisting(caller, ehrId)
    const change = (latest: SavedDirectory) => {
      if (latest.json === undefined) throw new ServiceError('NotFound')
      return { ehrId, json: toJson(folder, id) }
    }
    return withVersionUid(id, () =>
      this.#store.update(caller, { id, ehrId }, change, { expected: expectedOf(id), tx }),
    )
  }

  /** Adds a version that marks the directory as deleted. @throws as replace */
  async remove(
    caller: Caller,
    ehrId: string,
    expectedOf: ExpectedOf,
    tx?: Transaction,
  ): Promise<SavedDirectory> {
    const { id } = await this.#requireExisting(caller, ehrId)
    const change = (latest: SavedDirectory) => {
      if (latest.json === undefined) throw new ServiceError('NotFound')
      return { ehrId }
    }
    const options = { expected: expectedOf(id), action: 'delete' as const, tx }
    return withVersionUid(id, () => this.#store.update(caller, { id, ehrId }, change, options))
  }

  async #requireExisting(caller: Caller, ehrId: string): Promise<SavedDirectory> {
    const existing = await this.#find(caller, ehrId)
    if (existing) return existing
    if (await canRead(this.#context, caller, 'Ehr', { _id: ehrId }))
      throw new ServiceError('PreconditionFailed', { detail: 'The EHR has no directory.' })
    return this.#store.get(caller, { id: NO_DIRECTORY, ehrId })
  }

  /** Finds the directory for a decision that an audited access follows. */
  async #find(caller: Caller, ehrId: string): Promise<SavedDirectory | undefined> {
    const readable = { ehrId, ...permissionFilter('_rperm', caller) } as Filter<ParseDocument>
    const directory = await documentCollection(this.#context, Directory.collection).findOne(readable, {
      projection: { _id: 1 },
    })
    return directory ? this.#store.find(caller, { id: directory._id, ehrId }) : undefined
  }
}

/** No directory has this id: the access to it is audited as denied. */
const NO_DIRECTORY = ''

/** The root folder of a version with its uid; undefined if that version marks it as deleted. */
export function toFolder({
  json,
  ...version
}: Pick<SavedDirectory, 'id' | 'version' | 'json'>): RmObject | undefined {
  if (json === undefined) return undefined
  const { _type, archetype_node_id, name, ...rest } = JSON.parse(json) as RmObject
  return { _type, archetype_node_id, name, uid: objectVersionId(version), ...rest }
}

function toJson({ uid: _, ...folder }: RmObject, id: string): string {
  return JSON.stringify(withFolderUids(folder as RmObject, id))
}

/** The id in the uid that a client sent. @throws InvalidInput when it is not a UUID */
function sentIdOf(folder: RmObject): string | undefined {
  const uid = valueAt(folder, 'uid', 'value')
  if (typeof uid !== 'string') return undefined
  const { id } = parseVersionUid(uid)
  if (isUuid(id)) return toLowerCaseUuid(id)
  const violation = { path: 'uid.value', code: 'pattern', message: 'must begin with a UUID' }
  throw new ServiceError('InvalidInput', { violations: [violation] })
}

const existsError = (cause?: unknown): ServiceError =>
  new ServiceError('Conflict', {
    detail: 'The EHR has a directory already, or another directory has this uid.',
    cause,
  })
