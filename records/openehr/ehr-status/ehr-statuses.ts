import type { Static } from '@sinclair/typebox'
import type { IndexDescription } from 'mongodb'
import { ServiceError } from '../../../schemas/errors.ts'
import type { Ehrs, StoredEhr } from '../../ehrs/ehrs.ts'
import { ehrPermissions } from '../../ehrs/rights/access.ts'
import { unnamedFor } from '../../ehrs/rights/anonymity.ts'
import { into } from '../../registered/into.ts'
import type { Expected } from '../../store/decisions.ts'
import type { Caller, Permissions } from '../../store/documents/caller.ts'
import { isDuplicate } from '../../store/documents/database.ts'
import type { Saved } from '../../store/documents/parse-format.ts'
import { Store } from '../../store/store.ts'
import { inTransaction, type Records, type Transaction } from '../../store/writing/transaction.ts'
import { within } from '../compositions/reading.ts'
import { EhrStatus } from '../ehr-status-record.ts'
import { canonical, type RmObject } from '../rm/canonical.ts'
import { statusIdOf, statusInResponse, usualStatus } from './ehr-status.ts'

type Kept = Static<typeof EhrStatus.schema>

interface VersionedStatus {
  object: RmObject
  version: number
}

/** The statuses of the EHRs, each with its versions. */
export class EhrStatuses {
  readonly #records: Records
  readonly #ehrs: Ehrs
  readonly #store

  constructor(records: Records, ehrs: Ehrs) {
    this.#records = records
    this.#ehrs = ehrs
    this.#store = new Store(records, EhrStatus)
  }

  indexes(): [collection: string, IndexDescription[]][] {
    return [this.#store.indexes()]
  }

  /** Creates an EHR with the given status. Its subject, unless given, is the one that the status names, else the caller. */
  create(
    caller: Caller,
    id: string,
    { subjectId, status }: { subjectId?: string | undefined; status?: unknown },
  ): Promise<StoredEhr> {
    const object = status === undefined ? undefined : readStatus(status, 'status')
    const named = within(object, 'subject', 'external_ref', 'id', 'value') as string | undefined
    const keep =
      object &&
      (async (tx: Transaction, permissions: Permissions) => {
        await this.#store.create(caller, keptOf(id, object), permissions, { tx, id: statusIdOf(id) })
      })
    return this.#ehrs.create(caller, subjectId ?? named ?? caller.userId, id, keep)
  }

  /** @throws NotFound */
  async get(caller: Caller, ehrId: string): Promise<VersionedStatus> {
    const { subjectId } = await this.#ehrs.get(caller, ehrId)
    const unnamed = (await unnamedFor(this.#records, caller)).has(ehrId)
    const found = await this.#find(caller, ehrId)
    const id = statusIdOf(ehrId)
    const version = found?.version ?? 1
    const object = found ? (JSON.parse(found.json) as RmObject) : usualStatus(subjectId)
    return { object: statusInResponse(object, { id, version, unnamed }), version }
  }

  /** @throws NotFound; Forbidden for one who may only read; InvalidInput; PreconditionFailed with the latest version */
  async replace(caller: Caller, ehrId: string, sent: unknown, expected: Expected): Promise<VersionedStatus> {
    const object = readStatus(sent)
    const id = statusIdOf(ehrId)
    const { subjectId } = await this.#ehrs.get(caller, ehrId)
    const update = (tx?: Transaction) =>
      this.#store.update(caller, { id, ehrId }, (now) => ({ ...now, ...keptOf(ehrId, object) }), {
        tx,
        expected,
      })
    const { version } = (await this.#find(caller, ehrId))
      ? await update()
      : await this.#makeUsual(caller, { ehrId, subjectId }, update)
    return { object: statusInResponse(object, { id, version, unnamed: false }), version }
  }

  async #find(caller: Caller, ehrId: string): Promise<Saved<Kept> | undefined> {
    return (await this.#store.list(caller, 'ofEhr', { where: { ehrId }, limit: 1 })).items[0]
  }

  /** What everybody has seen so far is the first version; what comes next is made with it. */
  #makeUsual(
    caller: Caller,
    { ehrId, subjectId }: { ehrId: string; subjectId: string },
    update: (tx?: Transaction) => Promise<Saved<Kept>>,
  ): Promise<Saved<Kept>> {
    const id = statusIdOf(ehrId)
    const first = { ...keptOf(ehrId, usualStatus(subjectId)), id }
    const made = inTransaction(this.#records, async (tx) => {
      await this.#store.createAll(caller, [first], into({ permissions: ehrPermissions }, id, { ehrId }), {
        tx,
      })
      return update(tx)
    })
    return made.catch((error: unknown) => {
      if (isDuplicate(error)) return update()
      throw error
    })
  }
}

const keptOf = (ehrId: string, { uid: _, ...object }: RmObject): Kept => ({
  ehrId,
  isQueryable: object.is_queryable === true,
  json: JSON.stringify(object),
})

/** @throws InvalidInput */
function readStatus(sent: unknown, place = ''): RmObject {
  const { object, violations } = canonical(sent, 'EHR_STATUS')
  if (object !== undefined && violations.length === 0) return object
  const placed = violations.map((one) => ({ ...one, path: [place, one.path].filter(Boolean).join('.') }))
  throw new ServiceError('InvalidInput', { violations: placed })
}
