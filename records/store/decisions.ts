import { isDeepStrictEqual } from 'node:util'
import type { Static, TObject } from '@sinclair/typebox'
import { ServiceError } from '../../schemas/errors.ts'
import { type Caller, isPermitted, type Permissions, permitted } from './documents/caller.ts'
import { newId } from './documents/ids.ts'
import {
  type ParseDocument,
  type ParseFormat,
  type Saved,
  storedPermissions,
} from './documents/parse-format.ts'
import { accessesOf, type Key, type Resource, recordKeyOf } from './resource.ts'
import type { CompanionWrite, Decision } from './writing/decision.ts'
import { type Change, changedFields, changeOf } from './writing/history.ts'
import type { Into } from './writing/writer.ts'

/** The versions that the caller accepts to overwrite; any: there is one, undefined: no condition. */
export type Expected = readonly number[] | 'any' | undefined

interface Changing {
  expected: Expected
  permissions: Permissions | undefined
  action: 'update' | 'delete'
}

/** What the writes of one resource come to, history and audit included, once the records are at hand. */
export class Decisions<S extends TObject> {
  readonly #resource: Resource<S, string>
  readonly #format: ParseFormat<Static<S>>
  readonly #clock: () => Date

  constructor(resource: Resource<S, string>, format: ParseFormat<Static<S>>, clock: () => Date) {
    this.#resource = resource
    this.#format = format
    this.#clock = clock
  }

  /**
   * @param holder what the records are registered in, when their permissions come from there
   * @throws NotFound; Forbidden for one who may only read the holder; what the holder forbids
   */
  created(
    caller: Caller,
    inputs: ReadonlyArray<Static<S> & { id?: string }>,
    permissions: Permissions | Into,
    holder: ParseDocument | null,
  ): Decision<Saved<Static<S>>[]> {
    const at = this.#clock()
    const given = 'permissions' in permissions ? permissionsIn(permissions, caller, holder) : permissions
    const meta = { version: 1, _created_at: at, _updated_at: at, ...storedPermissions(given) }
    const documents = inputs.map((input) => ({
      _id: input.id ?? newId(),
      ...this.#format.toStored(input),
      ...meta,
    }))
    const created = documents.map((document) => this.#format.fromStored(document))
    return {
      operations: documents.map((document) => ({ insertOne: { document } })),
      changes: created.map((record) =>
        this.#change(caller, record, { action: 'create', version: 1, before: null, changed: [] }),
      ),
      accesses: accessesOf(this.#resource, caller, { action: 'create' }, created),
      companions: created.flatMap((after) => this.#companion(caller, null, after, given)),
      result: created,
    }
  }

  /** @throws NotFound; Forbidden for one who may only read; PreconditionFailed with the current version; what forbids a change */
  updated(
    caller: Caller,
    key: Key<Static<S>>,
    found: ParseDocument | null,
    change: (now: Saved<Static<S>>) => Static<S>,
    { expected, permissions, action }: Changing,
  ): Decision<Saved<Static<S>>> {
    const before = this.#changeable(caller, key, expected, found)
    const next = this.#next(before, change(this.#format.fromStored(before)), permissions)
    const updated = this.#format.fromStored(next)
    const changed = changedFields(before, next)
    return {
      operations: [{ replaceOne: { filter: same(before, caller), replacement: next } }],
      changes: [this.#change(caller, updated, { action, version: next.version, before, changed })],
      accesses: accessesOf(this.#resource, caller, { action }, [updated]),
      companions: this.#companion(caller, this.#format.fromStored(before), updated, permissionsOf(next)),
      result: updated,
    }
  }

  /** @throws as updated */
  removed(
    caller: Caller,
    key: Key<Static<S>>,
    found: ParseDocument | null,
    expected: Expected,
  ): Decision<void> {
    const before = this.#changeable(caller, key, expected, found)
    const removed = this.#format.fromStored(before)
    const change = { action: 'delete' as const, version: before.version + 1, before, changed: [] }
    return {
      operations: [{ deleteOne: { filter: same(before, caller) } }],
      changes: [this.#change(caller, removed, change)],
      accesses: accessesOf(this.#resource, caller, { action: 'delete' }, [removed]),
      companions: this.#companion(caller, removed, null, permissionsOf(before)),
      result: undefined,
    }
  }

  #companion(
    caller: Caller,
    before: Saved<Static<S>> | null,
    after: Saved<Static<S>> | null,
    permissions: Permissions,
  ): CompanionWrite[] {
    return this.#resource.companion?.writesFor(caller, { before, after, permissions }) ?? []
  }

  /** The record that a write replaces. */
  #changeable(
    caller: Caller,
    key: Key<Static<S>>,
    expected: Expected,
    found: ParseDocument | null,
  ): ParseDocument {
    if (!found || !isPermitted(found._rperm, caller) || !this.#fits(key, found))
      throw new ServiceError('NotFound')
    if (!isPermitted(found._wperm, caller)) throw new ServiceError('Forbidden')
    this.#resource.refuseChange?.(this.#format.fromStored(found))
    const { version } = found
    if (Array.isArray(expected) && !expected.includes(version))
      throw new ServiceError('PreconditionFailed', { version })
    return found
  }

  #fits(key: Key<Static<S>>, document: ParseDocument): boolean {
    return Object.entries(key).every(([name, wanted]) => {
      const field = this.#format.field(name)
      return wanted === undefined || isDeepStrictEqual(document[field.key] ?? null, field.search(wanted))
    })
  }

  /** The stored form of what follows `before`. Fields that the schema does not know stay as they are. */
  #next(before: ParseDocument, record: Static<S>, permissions: Permissions | undefined): ParseDocument {
    const unknown = Object.entries(before).filter(([key]) => !this.#format.keys.has(key))
    return {
      ...(Object.fromEntries(unknown) as ParseDocument),
      ...this.#format.toStored(record, before),
      ...storedPermissions(permissions ?? { read: before._rperm, write: before._wperm }),
      version: before.version + 1,
      _updated_at: this.#clock(),
    }
  }

  #change(caller: Caller, record: Saved<Static<S>>, write: Parameters<typeof changeOf>[2]): Change {
    return changeOf(recordKeyOf(this.#resource, record), { caller, at: this.#clock() }, write)
  }
}

const permissionsOf = ({ _rperm, _wperm }: ParseDocument): Permissions => ({ read: _rperm, write: _wperm })

/** The very version that was read, for one who may write it. */
const same = ({ _id, version }: ParseDocument, caller: Caller) => ({
  _id,
  version,
  ...permitted('_wperm', caller),
})

/** The permissions of what is registered there. @throws NotFound; Forbidden for one who may only read it */
function permissionsIn(
  { key, byReaders, permissions }: Into,
  caller: Caller,
  holder: ParseDocument | null,
): Permissions {
  const fits = holder && Object.entries(key).every(([name, value]) => holder[name] === value)
  if (!fits || !isPermitted(holder._rperm, caller)) throw new ServiceError('NotFound')
  if (!byReaders && !isPermitted(holder._wperm, caller)) throw new ServiceError('Forbidden')
  return permissions(holder)
}
