import { versionUidOf } from '../../records/compositions/composition-record.ts'
import { statusIdOf } from '../../records/compositions/ehr-status-record.ts'
import type { Caller } from '../../records/store/documents/caller.ts'
import type { Transaction } from '../../records/store/writing/transaction.ts'
import { ServiceError } from '../../schemas/errors.ts'
import {
  type CompositionContent,
  type Compositions,
  deletedCompositionError,
} from '../compositions/compositions.ts'
import type { Directories } from '../directories/directories.ts'
import type { EhrStatuses } from '../ehr-status/ehr-statuses.ts'
import type { VersionAuthorship, VersionHead } from '../versions/original-version.ts'
import { withVersionUid } from '../versions/read-version.ts'
import { type SentVersion, STATUS_CHANGE_CODES, type VersionedClass } from './contribution.ts'

/** The stores of versioned objects. */
export interface VersionedStores {
  compositions: Compositions
  ehrStatuses: EhrStatuses
  directories: Directories
}

interface VersionKey {
  id: string
  version: number
}

/** A version to write, in the transaction of its contribution. */
interface VersionWrite {
  tx: Transaction
  ehrId: string
  sentVersion: SentVersion
  /** The validated data of a composition. */
  content: CompositionContent | undefined
  /** The id of a new object. */
  newUuid: string
}

/** How a contribution reads and writes the versioned objects of one class. */
interface ClassAdapter {
  /** @throws NotFound */
  get(
    stores: VersionedStores,
    caller: Caller,
    ehrId: string,
    key: VersionKey,
  ): Promise<Pick<VersionHead, 'version' | 'updatedAt'>>
  /** Lists the changes of an object, newest first. @throws NotFound */
  history(
    stores: VersionedStores,
    caller: Caller,
    ehrId: string,
    id: string,
  ): Promise<{ items: (VersionAuthorship & { version: number })[] }>
  /** Creates, replaces or deletes an object. @returns the new version */
  write(stores: VersionedStores, caller: Caller, write: VersionWrite): Promise<VersionKey>
}

const HISTORY_PAGE = { limit: 1000 }

const compositionAdapter: ClassAdapter = {
  get: ({ compositions }, caller, ehrId, key) => compositions.get(caller, { ehrId, uid: versionUidOf(key) }),
  history: ({ compositions }, caller, ehrId, uid) =>
    compositions.history(caller, { ehrId, uid }, HISTORY_PAGE),
  async write({ compositions }, caller, { tx, ehrId, sentVersion, content, newUuid }) {
    const { preceding } = sentVersion
    if (preceding === undefined)
      return compositions.insert(caller, { ehrId }, content as CompositionContent, { newUuid, tx })
    const { id, version } = preceding
    const uid = versionUidOf(preceding)
    if (content === undefined)
      return compositions.remove(caller, { ehrId, uid }, { tx, deletedError: deletedCompositionError })
    return compositions.update(caller, { ehrId, id }, content, { expected: [version], tx })
  },
}

const statusAdapter: ClassAdapter = {
  get: ({ ehrStatuses }, caller, ehrId, key) => ehrStatuses.get(caller, ehrId, key),
  history: ({ ehrStatuses }, caller, ehrId) => ehrStatuses.history(caller, ehrId, HISTORY_PAGE),
  write({ ehrStatuses }, caller, { tx, ehrId, sentVersion: { preceding, data } }) {
    if (!preceding || !data || !('json' in data)) throw statusChangeTypeError()
    const id = statusIdOf(ehrId)
    const expected = preceding.id === id ? [preceding.version] : []
    return withVersionUid(id, () => ehrStatuses.replace(caller, ehrId, data.json, expected, tx))
  },
}

/** An EHR has one status from its creation on, which nobody can delete. */
const statusChangeTypeError = () =>
  new ServiceError('InvalidInput', {
    violations: [
      {
        path: 'data.audit.change_type',
        code: 'changeType',
        message: `must be one of ${STATUS_CHANGE_CODES.join(', ')} for an EHR_STATUS: it cannot be created or deleted`,
      },
    ],
  })

const directoryAdapter: ClassAdapter = {
  get: ({ directories }, caller, ehrId, key) => directories.get(caller, ehrId, key),
  history: ({ directories }, caller, ehrId) => directories.history(caller, ehrId, HISTORY_PAGE),
  write({ directories }, caller, { tx, ehrId, sentVersion: { preceding, data }, newUuid }) {
    const json = data && 'json' in data ? data.json : undefined
    if (!preceding) return directories.create(caller, ehrId, json, { newUuid, isRetry: false }, tx)
    const expectedOf = (id: string) => (id === preceding.id ? [preceding.version] : [])
    return data === undefined
      ? directories.remove(caller, ehrId, expectedOf, tx)
      : directories.replace(caller, ehrId, json, expectedOf, tx)
  },
}

export const CLASS_ADAPTERS: Readonly<Record<VersionedClass, ClassAdapter>> = {
  COMPOSITION: compositionAdapter,
  EHR_STATUS: statusAdapter,
  FOLDER: directoryAdapter,
}
