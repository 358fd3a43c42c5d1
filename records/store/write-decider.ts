import { isDeepStrictEqual } from 'node:util'
import type { Static, TObject } from '@sinclair/typebox'
import { ServiceError } from '../../schemas/errors.ts'
import { type Caller, isPermitted, type Permissions, permissionFilter } from './documents/caller.ts'
import { newId } from './documents/ids.ts'
import {
  fromStoredPermissions,
  type ParseDocument,
  type ParseFormat,
  type SavedRecord,
  toStoredPermissions,
} from './documents/parse-format.ts'
import { accessesByEhr, historyKeyOf, type RecordSelector, type Resource } from './resource.ts'
import type { RecordParent } from './writing/batch-writer.ts'
import {
  changedFieldNames,
  createHistoryEntry,
  type HistoryEntry,
  versionAfterDeletion,
} from './writing/history.ts'
import type { DerivedWrite, WriteDecision } from './writing/write-decision.ts'

/** The versions that the caller agrees to overwrite; undefined: no condition. */
export type ExpectedVersions = readonly number[] | undefined

/** A record as it was written: in the form of the API, and as stored, with its permissions. */
export interface WrittenRecord<T> {
  record: SavedRecord<T>
  document: ParseDocument
}

interface UpdateConditions {
  expected: ExpectedVersions
  permissions: Permissions | undefined
  action: 'update' | 'delete'
  /** A record that would stay as it is gets no version. */
  skipUnchanged?: boolean | undefined
}

/** Decides the writes of one resource, with their history and audit, once the stored records are loaded. */
export class WriteDecider<S extends TObject> {
  readonly #resource: Resource<S, string>
  readonly #format: ParseFormat<Static<S>>
  readonly #clock: () => Date

  constructor(resource: Resource<S, string>, format: ParseFormat<Static<S>>, clock: () => Date) {
    this.#resource = resource
    this.#format = format
    this.#clock = clock
  }

  /**
   * @param parentDocument the parent, if the records take their permissions from it
   * @throws NotFound; Forbidden for a caller who may only read the parent; the errors of the parent's rules
   */
  decideCreate(
    caller: Caller,
    inputs: ReadonlyArray<Static<S> & { id?: string }>,
    permissions: Permissions | RecordParent,
    parentDocument: ParseDocument | null,
    version = 1,
  ): WriteDecision<WrittenRecord<Static<S>>[]> {
    const at = this.#clock()
    const given =
      'permissions' in permissions
        ? requireParentPermissions(permissions, caller, parentDocument)
        : permissions
    const meta = { version, _created_at: at, _updated_at: at, ...toStoredPermissions(given) }
    const documents = inputs.map((input) => ({
      _id: input.id ?? newId(),
      ...this.#format.toStored(input),
      ...meta,
    }))
    const created = documents.map((document) => this.#format.fromStored(document))
    return {
      operations: documents.map((document) => ({ insertOne: { document } })),
      changes: created.map((record) =>
        this.#createHistoryEntry(caller, record, { action: 'create', version, before: null, changed: [] }),
      ),
      accesses: accessesByEhr(this.#resource, caller, { action: 'create' }, created),
      derivedWrites: created.flatMap((after) => this.#deriveWrites(caller, null, after, given)),
      result: documents.map((document, i) => ({ document, record: created[i] as SavedRecord<Static<S>> })),
    }
  }

  /**
   * @throws NotFound; Forbidden without write access; PreconditionFailed with the current version; the errors
   * of `refuseChange`
   */
  decideUpdate(
    caller: Caller,
    key: RecordSelector<Static<S>>,
    found: ParseDocument | null,
    change: (now: SavedRecord<Static<S>>) => Static<S>,
    { expected, permissions, action, skipUnchanged }: UpdateConditions,
  ): WriteDecision<WrittenRecord<Static<S>>> {
    const before = this.#requireChangeable(caller, key, expected, found)
    const next = this.#nextDocument(before, change(this.#format.fromStored(before)), permissions)
    const changed = changedFieldNames(before, next)
    if (skipUnchanged && changed.length === 0) return this.#decideNothing(caller, before)
    const updated = this.#format.fromStored(next)
    return {
      operations: [{ replaceOne: { filter: unchangedFilter(before, caller), replacement: next } }],
      changes: [
        this.#createHistoryEntry(caller, updated, { action, version: next.version, before, changed }),
      ],
      accesses: accessesByEhr(this.#resource, caller, { action }, [updated]),
      derivedWrites: this.#deriveWrites(
        caller,
        this.#format.fromStored(before),
        updated,
        fromStoredPermissions(next),
      ),
      result: { document: next, record: updated },
    }
  }

  /** Leaves a record as it is; the caller sees it. */
  #decideNothing(caller: Caller, document: ParseDocument): WriteDecision<WrittenRecord<Static<S>>> {
    const record = this.#format.fromStored(document)
    const accesses = accessesByEhr(this.#resource, caller, { action: 'read' }, [record])
    return { operations: [], changes: [], accesses, result: { document, record } }
  }

  /** @throws as decideUpdate */
  decideRemoval(
    caller: Caller,
    key: RecordSelector<Static<S>>,
    found: ParseDocument | null,
    expected: ExpectedVersions,
  ): WriteDecision<SavedRecord<Static<S>>> {
    const before = this.#requireChangeable(caller, key, expected, found)
    if (!mayDelete(this.#resource, before, caller)) throw new ServiceError('Forbidden')
    const removed = this.#format.fromStored(before)
    const change = { action: 'delete' as const, version: before.version + 1, before, changed: [] }
    return {
      operations: [{ deleteOne: { filter: unchangedFilter(before, caller) } }],
      changes: [this.#createHistoryEntry(caller, removed, change)],
      accesses: accessesByEhr(this.#resource, caller, { action: 'delete' }, [removed]),
      derivedWrites: this.#deriveWrites(caller, removed, null, fromStoredPermissions(before)),
      result: removed,
    }
  }

  /** Decides the return of a deleted record, as its next version. */
  decideReturn(
    caller: Caller,
    last: ParseDocument,
    record: Static<S>,
    permissions: Permissions,
  ): WriteDecision<WrittenRecord<Static<S>>> {
    const document = {
      _id: last._id,
      ...this.#format.toStored(record),
      ...toStoredPermissions(permissions),
      version: versionAfterDeletion(last),
      ...{ _created_at: last._created_at, _updated_at: this.#clock() },
    }
    const returned = this.#format.fromStored(document)
    const change = { action: 'create' as const, version: document.version, before: null, changed: [] }
    return {
      operations: [{ insertOne: { document } }],
      changes: [this.#createHistoryEntry(caller, returned, change)],
      accesses: accessesByEhr(this.#resource, caller, { action: 'create' }, [returned]),
      derivedWrites: this.#deriveWrites(caller, null, returned, permissions),
      result: { document, record: returned },
    }
  }

  #deriveWrites(
    caller: Caller,
    before: SavedRecord<Static<S>> | null,
    after: SavedRecord<Static<S>> | null,
    permissions: Permissions,
  ): DerivedWrite[] {
    return this.#resource.recordDerivation?.deriveWrites(caller, { before, after, permissions }) ?? []
  }

  /** Checks that the caller may replace or remove the found record. @throws as decideUpdate */
  #requireChangeable(
    caller: Caller,
    key: RecordSelector<Static<S>>,
    expected: ExpectedVersions,
    found: ParseDocument | null,
  ): ParseDocument {
    if (!found || !isPermitted(found._rperm, caller) || !isSelected(this.#format, key, found))
      throw new ServiceError('NotFound')
    if (!isPermitted(found._wperm, caller)) throw new ServiceError('Forbidden')
    this.#resource.refuseChange?.(this.#format.fromStored(found))
    requireExpectedVersion(expected, found.version)
    return found
  }

  /** The stored form of the next version. Fields outside the schema stay unchanged. */
  #nextDocument(
    before: ParseDocument,
    record: Static<S>,
    permissions: Permissions | undefined,
  ): ParseDocument {
    const unknown = Object.entries(before).filter(([key]) => !this.#format.keys.has(key))
    return {
      ...(Object.fromEntries(unknown) as ParseDocument),
      ...this.#format.toStored(record, before),
      ...toStoredPermissions(permissions ?? fromStoredPermissions(before)),
      version: before.version + 1,
      _updated_at: this.#clock(),
    }
  }

  #createHistoryEntry(
    caller: Caller,
    record: SavedRecord<Static<S>>,
    write: Parameters<typeof createHistoryEntry>[2],
  ): HistoryEntry {
    return createHistoryEntry(historyKeyOf(this.#resource, record), { caller, at: this.#clock() }, write)
  }
}

/** @throws PreconditionFailed with the current version */
export function requireExpectedVersion(expected: ExpectedVersions, version: number): void {
  if (Array.isArray(expected) && !expected.includes(version))
    throw new ServiceError('PreconditionFailed', { version })
}

/** Whether a document has the fields of a selector. */
export const isSelected = <T>(
  format: ParseFormat<T>,
  key: RecordSelector<T>,
  document: ParseDocument,
): boolean =>
  Object.entries(key).every(([name, wanted]) => {
    const field = format.field(name)
    return wanted === undefined || isDeepStrictEqual(document[field.key] ?? null, field.search(wanted))
  })

/** Whether a caller who may write a record may also delete it. */
export const mayDelete = (
  { deleters }: Pick<Resource<TObject, string>, 'deleters'>,
  document: { _id: string; _wperm?: string[] },
  caller: Caller,
): boolean => isPermitted(deleters ? deleters(document) : document._wperm, caller)

/** Matches only the version that was read, and only with write access. */
const unchangedFilter = ({ _id, version }: ParseDocument, caller: Caller) => ({
  _id,
  version,
  ...permissionFilter('_wperm', caller),
})

/** The permissions of new records of the parent. @throws NotFound; Forbidden without write access to it */
export function requireParentPermissions(
  { key, allowsReaders, permissions }: RecordParent,
  caller: Caller,
  parentDocument: ParseDocument | null,
): Permissions {
  const fits = parentDocument && Object.entries(key).every(([name, value]) => parentDocument[name] === value)
  if (!fits || !isPermitted(parentDocument._rperm, caller)) throw new ServiceError('NotFound')
  if (!allowsReaders && !isPermitted(parentDocument._wperm, caller)) throw new ServiceError('Forbidden')
  return permissions(parentDocument)
}
