import type { MeasurementKind } from '../../records/measurements/measurement.ts'
import { type Caller, permissionFilter } from '../../records/store/documents/caller.ts'
import { documentCollection } from '../../records/store/documents/database.ts'
import type { ParseDocument } from '../../records/store/documents/parse-format.ts'
import { accessesByEhr } from '../../records/store/resource.ts'
import { findVersion } from '../../records/store/writing/history.ts'
import type { StoreContext } from '../../records/store/writing/transaction.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { compositionHead, toComposition } from './to-composition.ts'

interface FoundMeasurement {
  kind: MeasurementKind
  record: ParseDocument
}

interface MeasurementKey {
  ehrId: string
  id: string
}

/** Whether an id has the form of measurement ids; ids of compositions are UUIDs. */
export const isMeasurementId = (id: string): boolean => /^[A-Za-z0-9]{10}$/.test(id)

/** The manually entered measurements of an EHR, shown as compositions. */
export class MeasurementCompositions {
  readonly #records: StoreContext
  readonly #kinds: readonly MeasurementKind[]

  constructor(records: StoreContext, kinds: readonly MeasurementKind[]) {
    this.#records = records
    this.#kinds = kinds
  }

  /** A version in the stored form of compositions; undefined if the caller sees no such measurement. */
  async get(caller: Caller, key: MeasurementKey, version: number | undefined) {
    const measurement = await this.#find(caller, key)
    if (!measurement) return undefined
    const { kind, record } = measurement
    const { collection } = kind
    const wanted =
      version === undefined || version === record.version
        ? record
        : await findVersion(this.#records.db, { collection, ...key }, version)
    await this.#records.audit.record(...accessesByEhr(kind, caller, { action: 'read' }, [key]))
    if (!wanted) throw new ServiceError('NotFound')
    const { uid: _, ...composition } = toComposition(kind, wanted)
    return {
      ...{
        ...key,
        version: wanted.version,
        template: '',
        links: [],
        facts: [],
        times: [],
        ...compositionHead(kind),
      },
      json: JSON.stringify(composition),
      createdAt: record._created_at.toISOString(),
      updatedAt: wanted._updated_at.toISOString(),
    }
  }

  /** @throws Conflict when it is a measurement; the message names the place to change it */
  async refuseChange(caller: Caller, key: MeasurementKey): Promise<void> {
    const record = await this.#find(caller, key)
    if (!record) return
    const { noun, path } = record.kind
    throw new ServiceError('Conflict', {
      detail: `This composition shows a ${noun}. Change or delete it there: procedure/${path}/${key.id} of the EHR.`,
    })
  }

  async #find(caller: Caller, { ehrId, id }: MeasurementKey): Promise<FoundMeasurement | undefined> {
    if (!isMeasurementId(id)) return undefined
    const filter = { _id: id, ehrId, compositionId: null, ...permissionFilter('_rperm', caller) }
    for (const kind of this.#kinds) {
      const record = await documentCollection(this.#records, kind.collection).findOne(filter)
      if (record) return { kind, record }
    }
    return undefined
  }
}
