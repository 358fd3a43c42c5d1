import Parse from 'parse/node'
import { beginEhr } from '../../../records/ehrs/beginning/beginning.ts'
import { placed } from '../../../records/registered/into.ts'
import { type ClassKind, ruledFor, type Values } from '../../../records/registered/kind.ts'
import { requireRoom } from '../../../records/registered/refusals/room.ts'
import { createFaults, derivedOf } from '../../../records/registered/rules.ts'
import type { Caller, Permissions } from '../../../records/store/documents/caller.ts'
import { newId } from '../../../records/store/documents/ids.ts'
import type { ParseDocument } from '../../../records/store/documents/parse-format.ts'
import { inTransaction, type Records } from '../../../records/store/writing/transaction.ts'
import { fieldForm } from '../../../schemas/forms/class-form.ts'
import { namesOf } from '../../../schemas/forms/fields.ts'
import { callerOf, forgetRoles } from '../../request/caller.ts'
import { inParse, refuseFaults } from '../../request/refusals.ts'
import { attributesOf, dropAcl, valuesOf } from './attributes.ts'
import { joinOthers, recordOf } from './companion-writes.ts'
import type { Family } from './family.ts'

type Request = Parse.Cloud.BeforeSaveRequest

/** Where a new object belongs, and who may see it because of that. */
interface Placed {
  ehrId: string
  permissions: Permissions
  /** What it is registered in, when it has been looked up. */
  holder?: ParseDocument
}

/** Judges a new object, finds out where it belongs and gives it what the service sets. */
export async function beforeCreate(family: Family, plain: ClassKind, request: Request): Promise<void> {
  const { object } = request
  dropAcl(object)
  const values = valuesOf(object)
  for (const name of object.dirtyKeys()) if (!(name in values)) object.revert(name)
  const kind = await inParse(() => ruledFor(family.records, plain, values))
  refuseFaults(createFaults(kind, values))
  const caller = await callerOf(request)
  // Before it exists: roles, history and audit name it.
  const id = newId()
  object.id = id
  const { ehrId, permissions, holder } = await placeOf(family, kind, request, caller, values)
  object.set({
    ...('ehrId' in kind.place && { ehrId }),
    ...attributesOf(derivedOf(kind, values)),
    ...Object.fromEntries(namesOf(kind.fields, 'status').map((name) => [name, 'ACTIVE'])),
    version: 1,
    ACL: aclOf(permissions),
  })
  await family.announce(caller, { action: 'create', collection: kind.collection, id, ehrId })
  const after = recordOf(kind, id, valuesOf(object))
  await joinOthers(family, kind, caller, { transition: { before: null, after, permissions }, holder })
}

async function placeOf(
  { records, find }: Family,
  kind: ClassKind,
  request: Request,
  caller: Caller,
  values: Values,
): Promise<Placed> {
  // The schemas have made sure that these are texts where the class has them.
  const { subjectId, ehrId, carePlanId, goalId } = values as Record<string, string>
  if (subjectId !== undefined) return placeEhr(records, request, caller, subjectId)
  const { id = '' } = request.object
  return inParse(async () => {
    const place = await placed(find, caller, kind, id, { ehrId, carePlanId, goalId })
    await requireRoom(records, kind, { ...fieldForm(kind.fields, values), ehrId: place.ehrId, id })
    return place
  })
}

/** What the rule about a new EHR adds is stored in it. */
async function placeEhr(
  records: Records,
  request: Request,
  caller: Caller,
  subjectId: string,
): Promise<Placed> {
  const { id = '' } = request.object
  const ehr = { _id: id, subjectId }
  const { permissions, ...kept } = await inParse(() =>
    inTransaction(records, (tx) => beginEhr(records, tx, caller, ehr)),
  )
  request.object.set(kept)
  await forgetRoles(request, caller.userId)
  return { ehrId: id, permissions }
}

function aclOf({ read, write }: Permissions): Parse.ACL {
  const acl = new Parse.ACL()
  for (const who of read) acl.setReadAccess(who, true)
  for (const who of write) acl.setWriteAccess(who, true)
  return acl
}
