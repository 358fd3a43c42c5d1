import { ServiceError } from '../../../schemas/errors.ts'
import type { MeasurementKind } from '../../measurements/measurement.ts'
import { type Caller, permitted } from '../../store/documents/caller.ts'
import { documentsOf } from '../../store/documents/database.ts'
import type { ParseDocument } from '../../store/documents/parse-format.ts'
import { accessesOf } from '../../store/resource.ts'
import { documentAt } from '../../store/writing/history.ts'
import type { Records } from '../../store/writing/transaction.ts'
import { compositionOf, headOf } from './composition-of.ts'

interface Found {
  kind: MeasurementKind
  record: ParseDocument
}

interface Key {
  ehrId: string
  id: string
}

/** Ids of measurements have this form; those of compositions are UUIDs, unless they brought another. */
const MEASUREMENT_ID = /^[A-Za-z0-9]{10}$/

/** The measurements of an EHR as compositions, but for those that a composition holds. */
export class MeasuredCompositions {
  readonly #records: Records
  readonly #kinds: readonly MeasurementKind[]

  constructor(records: Records, kinds: readonly MeasurementKind[]) {
    this.#records = records
    this.#kinds = kinds
  }

  /** As compositions are kept, in the version that is asked for; undefined: there is no such measurement for the caller. */
  async get(caller: Caller, key: Key, version: number | undefined) {
    const found = await this.#find(caller, key)
    if (!found) return undefined
    const { kind, record } = found
    const { collection } = kind
    const wanted =
      version === undefined || version === record.version
        ? record
        : await documentAt(this.#records.db, { collection, ...key }, version)
    await this.#records.audit.record(...accessesOf(kind, caller, { action: 'read' }, [key]))
    if (!wanted) throw new ServiceError('NotFound')
    const { uid: _, ...composition } = compositionOf(kind, wanted)
    return {
      ...{ ...key, version: wanted.version, template: '', links: [], facts: [], ...headOf(kind) },
      json: JSON.stringify(composition),
      createdAt: record._created_at.toISOString(),
      updatedAt: wanted._updated_at.toISOString(),
    }
  }

  /** @throws Conflict when it is a measurement, with where it is changed */
  async refuseChange(caller: Caller, key: Key): Promise<void> {
    const found = await this.#find(caller, key)
    if (!found) return
    const { noun, path } = found.kind
    throw new ServiceError('Conflict', {
      detail: `This composition is a ${noun}, and is changed as such: see procedure/${path}/${key.id} of the EHR.`,
    })
  }

  async #find(caller: Caller, { ehrId, id }: Key): Promise<Found | undefined> {
    if (!MEASUREMENT_ID.test(id)) return undefined
    const filter = { _id: id, ehrId, compositionId: null, ...permitted('_rperm', caller) }
    for (const kind of this.#kinds) {
      const record = await documentsOf(this.#records, kind.collection).findOne(filter)
      if (record) return { kind, record }
    }
    return undefined
  }
}
