import type { Static } from '@sinclair/typebox'
import type { IndexDescription } from 'mongodb'
import { ServiceError } from '../../schemas/errors.ts'
import { DataType, DeviceType, EventType } from '../../schemas/types/data-types.ts'
import type { Violation } from '../../schemas/validation/violations.ts'
import { requireNoViolations } from '../ehr-records/refusals/refusals.ts'
import { type Caller, serviceCaller } from '../store/documents/caller.ts'
import { documentCollection, isDuplicateKeyError } from '../store/documents/database.ts'
import type { SavedRecord } from '../store/documents/parse-format.ts'
import type { Page, PageRequest } from '../store/reading/pages.ts'
import { Store } from '../store/store.ts'
import type { ExpectedVersions } from '../store/write-decider.ts'
import { findFirstVersion } from '../store/writing/history.ts'
import { runStoreTransaction, type StoreContext, type Transaction } from '../store/writing/transaction.ts'
import { builtInTypes } from './built-in/built-in-types.ts'
import { MODELLER_PERMISSIONS } from './modeller-permissions.ts'
import { evictType, resolveType, type TypeFamily, typeCollectionOf } from './type-registry.ts'
import { type TypeBody, typeViolations } from './type-rules.ts'

type TypeRecord = typeof DataType.record

/** A type as it is stored: its schema is a text. */
export type StoredType = SavedRecord<Static<TypeRecord>>

const TYPE_FORMS = { data: DataType, event: EventType, device: DeviceType }

/** Maximum number of types in each family. */
const MAX_TYPES = 10_000

/** The types of measurements, occurrences or devices, by name. */
export class TypeDefinitions {
  readonly #context: StoreContext
  readonly #family: TypeFamily
  readonly #reserved: readonly string[]
  readonly #store

  /** @param reservedNames names that have another meaning where types are named */
  constructor(context: StoreContext, family: TypeFamily, reservedNames: readonly string[] = []) {
    this.#context = context
    this.#family = family
    this.#reserved = reservedNames
    this.#store = new Store(context, {
      collection: typeCollectionOf(family),
      schema: TYPE_FORMS[family].record,
      lists: { byName: { requiredFields: [], sort: 'type', order: 'asc' } },
    })
  }

  indexes(): [collection: string, IndexDescription[]][] {
    return [this.#store.indexes()]
  }

  /** Creates the missing built-in types. */
  async addBuiltIn(): Promise<void> {
    const usual = builtInTypes[this.#family].map((one) => ({
      ...this.#toStored(one as TypeBody),
      id: one.type,
    }))
    const ids = usual.map(({ id }) => id)
    const existing = documentCollection(this.#context, typeCollectionOf(this.#family)).find({
      _id: { $in: ids },
    })
    const existingIds = new Set((await existing.project({ _id: 1 }).toArray()).map(({ _id }) => _id))
    const missing = usual.filter(({ id }) => !existingIds.has(id))
    if (missing.length === 0) return
    await runStoreTransaction(this.#context, (tx) =>
      this.#store.createAll(serviceCaller, missing as never[], MODELLER_PERMISSIONS, { tx }),
    ).catch(onConflict(() => {}))
  }

  /** Lists the types by name. @throws MalformedRequest for a cursor of another list */
  list(caller: Caller, page: PageRequest): Promise<Page<StoredType>> {
    return this.#store.list(caller, 'byName', { where: {}, ...page })
  }

  /** The ones of these names that have a type. */
  async filterExisting(names: readonly string[]): Promise<string[]> {
    const types = await Promise.all(names.map((name) => resolveType(this.#context, this.#family, name)))
    return types.flatMap((type) => type?.type ?? [])
  }

  /** @param version an earlier version @throws NotFound */
  async get(caller: Caller, name: string, version?: number): Promise<StoredType> {
    const current = await this.#store.get(caller, { id: name })
    if (version === undefined || version === current.version) return current
    const former = await this.#store.findFormerVersion(caller, current, version)
    if (!former) throw new ServiceError('NotFound', { detail: `There is no version ${version}.` })
    return former
  }

  /**
   * @param isRetry whether an earlier attempt of the same request may have created it
   * @throws RuleViolated; Conflict when a type with this name exists
   */
  async add(caller: Caller, body: TypeBody, isRetry: boolean): Promise<StoredType> {
    const id = body.type
    requireNoViolations([...typeViolations(this.#family, body), ...this.#nameViolations(id)])
    const create = async (tx: Transaction) => {
      await this.#requireCapacity()
      // The versions continue after a deleted type of this name, so that a number never means two definitions.
      const record = { collection: typeCollectionOf(this.#family), id }
      const first = await findFirstVersion(this.#context.db, record, tx)
      return this.#store.create(caller, this.#toStored(body), MODELLER_PERMISSIONS, { tx, id, ...first })
    }
    const storedType = await runStoreTransaction(this.#context, create).catch(
      onConflict((error) => {
        if (isRetry) return this.get(caller, id)
        throw new ServiceError('Conflict', {
          detail: 'A type with this name exists already. Use PUT to make a new version of it.',
          cause: error,
        })
      }),
    )
    evictType(this.#context, this.#family, id)
    return storedType
  }

  /** Saves a new version of a type. @throws NotFound; PreconditionFailed; RuleViolated */
  async replace(
    caller: Caller,
    name: string,
    body: TypeBody,
    expected: ExpectedVersions,
  ): Promise<StoredType> {
    const id = name
    const change = (current: StoredType) => {
      requireNoViolations(
        typeViolations(this.#family, { ...body, type: name }, current as { unit?: string; schema?: string }),
      )
      return { ...this.#toStored({ ...body, type: name }), used: current.used }
    }
    const storedType = await this.#store.update(caller, { id }, change, { expected })
    evictType(this.#context, this.#family, name)
    return storedType
  }

  /** @throws NotFound; PreconditionFailed; Conflict for a type that has been used or is built in */
  async remove(caller: Caller, name: string, expected: ExpectedVersions): Promise<void> {
    await runStoreTransaction(this.#context, async (tx) => {
      const { used } = await this.#store.get(caller, { id: name }, { tx })
      const usual = builtInTypes[this.#family].some(({ type }) => type === name)
      if (used || usual)
        throw new ServiceError('Conflict', { detail: used ? USED_TYPE_MESSAGE : BUILT_IN_TYPE_MESSAGE })
      // A concurrent write of the type's first data changes this document, so one of the two transactions is
      // retried.
      await this.#store.remove(caller, { id: name }, { tx, expected })
    })
    evictType(this.#context, this.#family, name)
  }

  #nameViolations(path: string): Violation[] {
    if (!this.#reserved.includes(path)) return []
    return [
      { path: 'type', code: 'reserved', message: 'must not be the name of a built-in kind of measurement' },
    ]
  }

  #toStored(body: TypeBody): Static<TypeRecord> {
    const { fields } = TYPE_FORMS[this.#family]
    const names = Object.entries(fields as { [name: string]: { default?: unknown } })
    const values = names.flatMap(([name, { default: defaultValue }]) => {
      const value = body[name] ?? defaultValue
      if (value === undefined) return []
      return [[name, name === 'schema' ? JSON.stringify(value) : value]]
    })
    return { ...Object.fromEntries(values), used: false } as Static<TypeRecord>
  }

  async #requireCapacity(): Promise<void> {
    const types = documentCollection(this.#context, typeCollectionOf(this.#family))
    if ((await types.countDocuments({}, { limit: MAX_TYPES })) >= MAX_TYPES)
      requireNoViolations([
        {
          path: '',
          code: 'maxItems',
          message: `cannot be added: there are already ${MAX_TYPES} types, the maximum`,
        },
      ])
  }
}

const RETIRE_HINT = 'To accept no new data, PUT it with `retired: true`.'
const USED_TYPE_MESSAGE = `Stored data or thresholds use this type. ${RETIRE_HINT}`
const BUILT_IN_TYPE_MESSAGE = `Built-in types cannot be deleted. ${RETIRE_HINT}`

const onConflict =
  <T>(otherwise: (error: unknown) => T) =>
  (error: unknown): T => {
    const isTaken =
      isDuplicateKeyError(error) || (error instanceof ServiceError && error.error === 'Conflict')
    if (isTaken) return otherwise(error)
    throw error
  }
