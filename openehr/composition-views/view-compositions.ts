import { type Caller, permissionFilter } from '../../records/store/documents/caller.ts'
import { documentCollection } from '../../records/store/documents/database.ts'
import type { ParseDocument } from '../../records/store/documents/parse-format.ts'
import { accessesByEhr } from '../../records/store/resource.ts'
import { findVersion } from '../../records/store/writing/history.ts'
import type { StoreContext } from '../../records/store/writing/transaction.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { readVersion, type VersionSelector } from '../versions/read-version.ts'
import type { CompositionView } from './composition-view.ts'

interface FoundRecord {
  view: CompositionView
  record: ParseDocument
}

interface RecordKey {
  ehrId: string
  id: string
}

const toRecordVersion = (record: ParseDocument) => ({
  record,
  version: record.version,
  updatedAt: record._updated_at.toISOString(),
})

/** Whether an id has the form of record ids; ids of compositions are UUIDs. */
export const isRecordId = (id: string): boolean => /^[A-Za-z0-9]{10}$/.test(id)

/** The records of an EHR that views show as compositions. */
export class ViewCompositions {
  readonly #context: StoreContext
  readonly #views: readonly CompositionView[]

  constructor(context: StoreContext, views: readonly CompositionView[]) {
    this.#context = context
    this.#views = views
  }

  /**
   * A version in the stored form of compositions; undefined if the caller sees no such record.
   * @throws NotFound for an unknown version
   */
  async get(caller: Caller, key: RecordKey, selector: VersionSelector) {
    const viewAndRecord = await this.#find(caller, key)
    if (!viewAndRecord) return undefined
    const { view, record } = viewAndRecord
    const { collection } = view.kind
    await this.#context.audit.record(...accessesByEhr(view.kind, caller, { action: 'read' }, [key]))
    const { record: requestedRecord } = await readVersion(
      toRecordVersion(record),
      selector,
      async (number) => {
        const former = await findVersion(this.#context.db, { collection, ...key }, number)
        return former ? toRecordVersion(former) : undefined
      },
    )
    const { uid: _, ...composition } = view.toComposition(requestedRecord)
    const { archetypes, ...head } = view.head
    return {
      ...key,
      version: requestedRecord.version,
      template: '',
      links: [],
      facts: [],
      times: [],
      ...head,
      archetypes: [...archetypes],
      json: JSON.stringify(composition),
      createdAt: record._created_at.toISOString(),
      updatedAt: requestedRecord._updated_at.toISOString(),
    }
  }

  /** @throws Conflict when a view shows it; the message names the place to change it */
  async refuseChange(caller: Caller, key: RecordKey): Promise<void> {
    const viewAndRecord = await this.#find(caller, key)
    if (!viewAndRecord) return
    const { kind, path } = viewAndRecord.view
    throw new ServiceError('Conflict', {
      detail: `This composition shows a ${kind.noun}. Change or delete it there: ${path}/${key.id} of the EHR.`,
    })
  }

  async #find(caller: Caller, { ehrId, id }: RecordKey): Promise<FoundRecord | undefined> {
    if (!isRecordId(id)) return undefined
    for (const view of this.#views) {
      const filter = { _id: id, ehrId, ...view.filters?.shown, ...permissionFilter('_rperm', caller) }
      const record = await documentCollection(this.#context, view.kind.collection).findOne(filter)
      if (record) return { view, record }
    }
    return undefined
  }
}
