import type { Static } from '@sinclair/typebox'
import type { IndexDescription } from 'mongodb'
import { DataType, DeviceType, EventType } from '../../schemas/data-types.ts'
import { ServiceError } from '../../schemas/errors.ts'
import type { Violation } from '../../schemas/violation.ts'
import { refuseViolations } from '../registered/refusals/refusals.ts'
import type { Expected } from '../store/decisions.ts'
import type { Caller } from '../store/documents/caller.ts'
import { documentsOf, isDuplicate } from '../store/documents/database.ts'
import type { Saved } from '../store/documents/parse-format.ts'
import type { Page, PageOf } from '../store/reading/listing.ts'
import { Store } from '../store/store.ts'
import { inTransaction, type Records, type Transaction } from '../store/writing/transaction.ts'
import { collectionOf, forgetType, knownType, type TypeFamily } from './known-types.ts'
import { type TypeBody, typeViolations } from './type-rules.ts'
import { usualTypes } from './usual/usual-types.ts'

type Record = typeof DataType.record

/** A type as it is kept: its schema as text. */
export type StoredType = Saved<Static<Record>>

const FORMS = { data: DataType, event: EventType, device: DeviceType }

/** Everybody who is logged in may read types; the operation has checked who may change them. */
const PERMISSIONS = { read: ['*'], write: ['role:modeller'] }

/** How many types of each family one service takes. */
const MOST = 10_000

const asService: Caller = {
  ...{ userId: '', roles: [], application: 'service', requestId: '' },
  unrestricted: true,
}

/** The types of measurements, of occurrences, or of devices, each under its name. */
export class Types {
  readonly #records: Records
  readonly #family: TypeFamily
  readonly #reserved: readonly string[]
  readonly #store

  /** @param reserved names that mean something else where types are named */
  constructor(records: Records, family: TypeFamily, reserved: readonly string[] = []) {
    this.#records = records
    this.#family = family
    this.#reserved = reserved
    this.#store = new Store(records, {
      collection: collectionOf(family),
      schema: FORMS[family].record,
      lists: { byName: { by: [], sort: 'type', order: 'asc' } },
    })
  }

  indexes(): [collection: string, IndexDescription[]][] {
    return [this.#store.indexes()]
  }

  /** Makes those that come with the service and are not there yet. */
  async addUsual(): Promise<void> {
    const usual = usualTypes[this.#family].map((one) => ({ ...this.#kept(one as TypeBody), id: one.type }))
    const ids = usual.map(({ id }) => id)
    const there = documentsOf(this.#records, collectionOf(this.#family)).find({ _id: { $in: ids } })
    const known = new Set((await there.project({ _id: 1 }).toArray()).map(({ _id }) => _id))
    const missing = usual.filter(({ id }) => !known.has(id))
    if (missing.length === 0) return
    await inTransaction(this.#records, (tx) =>
      this.#store.createAll(asService, missing as never[], PERMISSIONS, { tx }),
    ).catch(ifConflict(() => {}))
  }

  /** By their names. @throws MalformedRequest for a cursor of another list */
  list(caller: Caller, page: PageOf): Promise<Page<StoredType>> {
    return this.#store.list(caller, 'byName', { where: {}, ...page })
  }

  /** Those of these names that there are. */
  async known(names: readonly string[]): Promise<string[]> {
    const types = await Promise.all(names.map((name) => knownType(this.#records, this.#family, name)))
    return types.flatMap((type) => type?.type ?? [])
  }

  /** @param version a former one @throws NotFound */
  async get(caller: Caller, name: string, version?: number): Promise<StoredType> {
    const now = await this.#store.get(caller, { id: name })
    if (version === undefined || version === now.version) return now
    const former = await this.#store.versionOf(caller, now, version)
    if (!former) throw new ServiceError('NotFound', { detail: `There is no version ${version}.` })
    return former
  }

  /**
   * @param again whether an earlier attempt of the same request may have made it
   * @throws RuleViolated; Conflict when there is one of that name
   */
  async add(caller: Caller, body: TypeBody, again: boolean): Promise<StoredType> {
    const id = body.type
    refuseViolations([...typeViolations(this.#family, body), ...this.#nameViolations(id)])
    const create = async (tx: Transaction) => {
      await this.#requireRoom()
      return this.#store.create(caller, this.#kept(body), PERMISSIONS, { tx, id })
    }
    return inTransaction(this.#records, create).catch(
      ifConflict((error) => {
        if (again) return this.get(caller, id)
        throw new ServiceError('Conflict', {
          detail: 'There is a type of this name: PUT makes a new version of it.',
          cause: error,
        })
      }),
    )
  }

  /** A new version of it. @throws NotFound; PreconditionFailed; RuleViolated */
  async replace(caller: Caller, name: string, body: TypeBody, expected: Expected): Promise<StoredType> {
    const id = name
    const change = (now: StoredType) => {
      refuseViolations(typeViolations(this.#family, { ...body, type: name }, now as { unit?: string }))
      return { ...this.#kept({ ...body, type: name }), used: now.used }
    }
    const replaced = await this.#store.update(caller, { id }, change, { expected })
    forgetType(this.#records, this.#family, name)
    return replaced
  }

  /** @throws NotFound; PreconditionFailed; Conflict for one that has been used, or comes with the service */
  async remove(caller: Caller, name: string, expected: Expected): Promise<void> {
    await inTransaction(this.#records, async (tx) => {
      const { used } = await this.#store.get(caller, { id: name }, { tx })
      const usual = usualTypes[this.#family].some(({ type }) => type === name)
      if (used || usual) throw new ServiceError('Conflict', { detail: used ? USED : USUAL })
      // Whoever stores the first data of it at the same instant changes it: one of the two is repeated.
      await this.#store.remove(caller, { id: name }, { tx, expected })
    })
    forgetType(this.#records, this.#family, name)
  }

  #nameViolations(path: string): Violation[] {
    if (!this.#reserved.includes(path)) return []
    return [{ path: 'type', code: 'reserved', message: 'is the name of a kind of measurement' }]
  }

  #kept(body: TypeBody): Static<Record> {
    const { fields } = FORMS[this.#family]
    const names = Object.entries(fields as { [name: string]: { default?: unknown } })
    const values = names.flatMap(([name, { default: usual }]) => {
      const value = body[name] ?? usual
      if (value === undefined) return []
      return [[name, name === 'schema' ? JSON.stringify(value) : value]]
    })
    return { ...Object.fromEntries(values), used: false } as Static<Record>
  }

  async #requireRoom(): Promise<void> {
    const all = documentsOf(this.#records, collectionOf(this.#family))
    if ((await all.countDocuments({}, { limit: MOST })) >= MOST)
      refuseViolations([{ path: '', code: 'maxItems', message: `would be one type more than ${MOST}` }])
  }
}

const RETIRE = 'PUT it with `retired: true`, and nothing new is stored of it.'
const USED = `Data have been stored of this type. ${RETIRE}`
const USUAL = `This type comes with the service. ${RETIRE}`

const ifConflict =
  <T>(otherwise: (error: unknown) => T) =>
  (error: unknown): T => {
    const taken = isDuplicate(error) || (error instanceof ServiceError && error.error === 'Conflict')
    if (taken) return otherwise(error)
    throw error
  }
