import { isDeepStrictEqual } from 'node:util'
import type { Static, TObject } from '@sinclair/typebox'
import { ServiceError } from '../../schemas/errors.ts'
import {
  type Caller,
  isPermitted,
  type Permissions,
  permissionFilter,
  requireWritableByHelper,
} from './documents/caller.ts'
import { newId } from './documents/ids.ts'
import {
  fromStoredPermissions,
  type ParseDocument,
  type ParseFormat,
  type RecordOf,
  toStoredPermissions,
} from './documents/parse-format.ts'
import { accessesByEhr, historyKeyOf, type RecordSelector, type Resource } from './resource.ts'
import type { RecordParent } from './writing/batch-writer.ts'
import { changedFieldNames, createHistoryEntry, type HistoryEntry } from './writing/history.ts'
import type { DocumentWrite, FirstVersion, WriteDecision } from './writing/write-decision.ts'

/** The versions that the caller agrees to overwrite; undefined: no condition. */
export type ExpectedVersions = readonly number[] | undefined

/** A record as it was written: in the form of the API, and as stored, with its permissions. */
export interface WrittenRecord<S extends TObject> {
  record: RecordOf<S>
  document: ParseDocument
}

export interface UpdateConditions {
  expected?: ExpectedVersions
  permissions?: Permissions | undefined
  /** The action that the history shows. A 'delete' may keep the record, emptied. */
  action?: 'update' | 'delete'
  /** A record that would stay as it is gets no version. */
  skipUnchanged?: boolean
  /** The version that returns. */
  former?: ParseDocument | undefined
}

/** The versions of a record before and after a write; null: there is none. */
interface RecordChange<S extends TObject> {
  before: WrittenRecord<S> | null
  after: WrittenRecord<S> | null
  /** The names of the stored fields that an update changes. */
  changed?: string[]
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
    { version, createdAt, former, commit = { at: this.#clock(), caller } }: FirstVersion = { version: 1 },
  ): WriteDecision<WrittenRecord<S>> {
    const recordPermissions =
      'permissions' in permissions
        ? requireParentPermissions(permissions, caller, parentDocument)
        : permissions
    requireWritableByHelper(caller, this.#resource.helperAct)
    const meta = {
      version,
      _created_at: createdAt ?? commit.at,
      _updated_at: commit.at,
      ...toStoredPermissions(recordPermissions),
    }
    return this.#decide(
      caller,
      'create',
      inputs.map((input) => ({
        before: null,
        after: this.#load({ _id: input.id ?? newId(), ...this.#format.toStored(input, former), ...meta }),
      })),
      commit,
    )
  }

  /** @throws NotFound; Forbidden; PreconditionFailed with the current version; errors of `refuseChange` */
  decideUpdate(
    caller: Caller,
    key: RecordSelector<S>,
    document: ParseDocument | null,
    change: (current: RecordOf<S>) => Static<S>,
    { expected, permissions, action = 'update', skipUnchanged, former }: UpdateConditions = {},
  ): WriteDecision<WrittenRecord<S>> {
    const before = this.requireChangeable(caller, document, expected, key)
    const next = this.#nextDocument(before.document, change(before.record), { permissions, former })
    const changedFields = changedFieldNames(before.document, next)
    if (!skipUnchanged || changedFields.length > 0)
      return this.#decide(caller, action, [{ before, after: this.#load(next), changed: changedFields }])
    // The response shows the record.
    const accesses = accessesByEhr(this.#resource, caller, { action: 'read' }, [before.record])
    return { writes: [], changes: [], accesses, result: [before] }
  }

  /** @throws as decideUpdate */
  decideRemoval(
    caller: Caller,
    key: RecordSelector<S>,
    document: ParseDocument | null,
    expected?: ExpectedVersions,
  ): WriteDecision<WrittenRecord<S>> {
    const before = this.requireChangeable(caller, document, expected, key)
    const { deleters } = this.#resource
    if (deleters && !isPermitted(deleters.principalsOf(before.document), caller))
      throw new ServiceError('Forbidden', { detail: deleters.refusal })
    return this.#decide(caller, 'delete', [{ before, after: null }])
  }

  #load(document: ParseDocument): WrittenRecord<S> {
    return { document, record: this.#format.fromStored(document) }
  }

  #decide(
    caller: Caller,
    action: HistoryEntry['action'],
    changes: readonly RecordChange<S>[],
    commit = { at: this.#clock(), caller },
  ): WriteDecision<WrittenRecord<S>> {
    const result = changes.map(({ before, after }) => (after ?? before) as WrittenRecord<S>)
    const records = result.map(({ record }) => record)
    return {
      result,
      writes: changes.map((change) => documentWriteOf(change, caller)),
      changes: changes.map((change) => this.#historyEntryOf(change, commit, action)),
      accesses: accessesByEhr(this.#resource, caller, { action }, records),
      derivedWrites: changes.flatMap(
        ({ before, after }, i) =>
          this.#resource.recordDerivation?.deriveWrites(caller, {
            before: before?.record ?? null,
            after: after?.record ?? null,
            permissions: fromStoredPermissions((result[i] as WrittenRecord<S>).document),
          }) ?? [],
      ),
    }
  }

  #historyEntryOf(
    { before, after, changed = [] }: RecordChange<S>,
    commit: { at: Date; caller: Caller },
    action: HistoryEntry['action'],
  ): HistoryEntry {
    const { record, document } = (after ?? before) as WrittenRecord<S>
    const version = after ? document.version : document.version + 1
    const write = { action, version, before: before?.document ?? null, changed }
    return createHistoryEntry(historyKeyOf(this.#resource, record), commit, write)
  }

  /** Checks that the caller may change the found record. @throws as decideUpdate */
  requireChangeable(
    caller: Caller,
    document: ParseDocument | null | undefined,
    expected: ExpectedVersions,
    key: object = {},
  ): WrittenRecord<S> {
    if (!document || !isPermitted(document._rperm, caller) || !isSelected(this.#format, key, document))
      throw new ServiceError('NotFound')
    if (!isPermitted(document._wperm, caller)) throw new ServiceError('Forbidden')
    requireWritableByHelper(caller, this.#resource.helperAct)
    const before = this.#load(document)
    this.#resource.refuseChange?.(before.record)
    requireExpectedVersion(expected, document.version)
    return before
  }

  /** The stored form of the next version. Fields outside the schema stay unchanged, except what `_acl` repeats. */
  #nextDocument(
    before: ParseDocument,
    record: Static<S>,
    { permissions, former }: Pick<UpdateConditions, 'permissions' | 'former'>,
  ): ParseDocument {
    const unknown = Object.entries(before).filter(([key]) => !this.#format.keys.has(key) && key !== '_acl')
    return {
      ...(Object.fromEntries(unknown) as ParseDocument),
      ...this.#format.toStored(record, former, before),
      ...toStoredPermissions(permissions ?? fromStoredPermissions(before)),
      version: before.version + 1,
      _updated_at: this.#clock(),
    }
  }
}

/** Updates and removals match only the version that was read, and only with write access. */
function documentWriteOf({ before, after }: RecordChange<TObject>, caller: Caller): DocumentWrite {
  const { _id, version } = ((before ?? after) as WrittenRecord<TObject>).document
  const filter = before ? { _id, version, ...permissionFilter('_wperm', caller) } : undefined
  return { id: _id, filter, document: after?.document ?? null }
}

/** @throws PreconditionFailed with the current version */
export function requireExpectedVersion(expected: ExpectedVersions, version: number): void {
  if (Array.isArray(expected) && !expected.includes(version))
    throw new ServiceError('PreconditionFailed', { version })
}

/** Whether a document has the fields of a selector. */
export const isSelected = <T>(format: ParseFormat<T>, key: object, document: ParseDocument): boolean =>
  Object.entries(key).every(([name, value]) => {
    const field = format.field(name)
    return value === undefined || isDeepStrictEqual(document[field.key] ?? null, field.store(value))
  })

/** The permissions of new records of the parent. @throws NotFound; Forbidden without write access to it */
function requireParentPermissions(
  { key, allowsReaders, permissions }: RecordParent,
  caller: Caller,
  parentDocument: ParseDocument | null,
): Permissions {
  const fits = parentDocument && Object.entries(key).every(([name, value]) => parentDocument[name] === value)
  if (!fits || !isPermitted(parentDocument._rperm, caller)) throw new ServiceError('NotFound')
  if (!allowsReaders && !isPermitted(parentDocument._wperm, caller)) throw new ServiceError('Forbidden')
  return permissions(parentDocument)
}
