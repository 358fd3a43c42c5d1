import type Parse from 'parse/node'
import { closeObject } from '../../../records/care-plans/close-object.ts'
import { type ClassKind, ruledFor } from '../../../records/registered/kind.ts'
import { alreadyClosed, derivedNames, derivedOf, updateFaults } from '../../../records/registered/rules.ts'
import type { Caller } from '../../../records/store/documents/caller.ts'
import type { Records } from '../../../records/store/writing/transaction.ts'
import { namesOf } from '../../../schemas/forms/fields.ts'
import { callerOf } from '../../request/caller.ts'
import { inParse, invalid, refuseChange, refuseFaults } from '../../request/refusals.ts'
import { attributesOf, changedProperties, dropAcl, permissionsOf, valuesOf } from './attributes.ts'
import { joinOthers, recordOf } from './companion-writes.ts'
import type { Family } from './family.ts'

type Request = Parse.Cloud.BeforeSaveRequest

/** Judges an update and the object that it makes. Parse has made sure that the caller may write it. */
export async function beforeUpdate(family: Family, plain: ClassKind, request: Request): Promise<void> {
  const { records } = family
  const { object, original } = request
  // A body may name another object: `set` takes it for the one that is written.
  if (object.id !== original?.id) throw invalid(fixedId)
  const stored = original ? valuesOf(original) : {}
  refuseChange(plain, stored)
  dropAcl(object)
  const changed = changedProperties(object, stored)
  const values = valuesOf(object)
  const kind = await inParse(() => ruledFor(records, plain, stored))
  refuseFaults(updateFaults(kind, values, changed))
  writeTogether(kind, object, values, changed)
  const caller = await callerOf(request)
  const violations = kind.reserved?.(caller, { ...stored, id: object.id }, values) ?? []
  refuseFaults({ missing: [], violations })
  const { id = '' } = object
  if (namesOf(kind.fields, 'status').some((name) => changed.includes(name))) {
    await close(records, caller, kind.name as Closable, object, changed)
    return family.joinWrite(kind.name, id, (save) => save())
  }
  object.increment('version')
  const recordIn = (values: Record<string, unknown>) => recordOf(kind, id, values)
  const transition = {
    before: recordIn(stored),
    after: recordIn(valuesOf(object)),
    permissions: permissionsOf(object),
  }
  await joinOthers(family, kind, caller, { transition, changed, version: stored.version })
}

const fixedId = { path: 'objectId', code: 'fixed', message: 'may not be changed' }

/** Properties that were judged together are written together, derived ones with them. */
function writeTogether(
  kind: ClassKind,
  object: Parse.Object,
  values: Record<string, unknown>,
  changed: readonly string[],
): void {
  const { together, once = [] } = kind.rules
  if (!together.some((name) => changed.includes(name))) return
  for (const name of together)
    if (name in values) object.set(name, object.get(name))
    else object.unset(name)
  for (const name of derivedNames(kind)) object.unset(name)
  object.set(attributesOf(derivedOf(kind, values)))
  for (const name of once) object.revert(name)
}

/** Those with a status. */
type Closable = 'CarePlan' | 'Goal' | 'Task'

/**
 * A status leaves ACTIVE once: the whole update is written here, in a transaction that lets one of two through, and
 * Parse is left with one that changes nothing.
 */
async function close(
  records: Records,
  caller: Caller,
  className: Closable,
  object: Parse.Object,
  changed: readonly string[],
): Promise<void> {
  const id = object.id ?? ''
  const fields = Object.fromEntries(changed.map((name) => [name, object.get(name)]))
  const version = await closeObject(records, caller, { className, id, ehrId: object.get('ehrId'), fields })
  if (version === undefined) throw invalid(alreadyClosed)
  for (const name of object.dirtyKeys()) object.revert(name)
  object.increment('version', 0)
}
