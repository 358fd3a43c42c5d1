import Parse from 'parse/node'
import { findNamedEhrs } from '../../records/ehrs/rights/anonymity.ts'
import type { StoreContext } from '../../records/store/writing/transaction.ts'
import { loadCaller } from '../request/caller.ts'

const SUBJECT_FIELD = 'subjectId'

/** The SDK's type lacks the objects. */
type AfterFindRequest = Parse.Cloud.AfterFindRequest & { objects: Parse.Object[] }

/**
 * Restricts queries by subject to EHRs whose subject the caller may know: they could guess it letter by letter. Parse may
 * have loaded the caller's roles before, so EHRs without a role now are not among them.
 */
export async function beforeFindEhr(
  context: StoreContext,
  request: Parse.Cloud.BeforeFindRequest<Parse.Object>,
): Promise<Parse.Query | undefined> {
  const { where, ...rest } = request.query.toJSON()
  if (!JSON.stringify([where, rest]).includes(SUBJECT_FIELD)) return undefined
  const caller = await loadCaller(request)
  if (caller.unrestricted) return undefined
  const namedEhrIds = await findNamedEhrs(context, caller)
  const condition = { $or: [{ [SUBJECT_FIELD]: caller.userId }, { objectId: { $in: [...namedEhrIds] } }] }
  return new Parse.Query('Ehr').withJSON({ ...rest, where: { $and: [where, condition] } })
}

/** Removes the subject from EHRs whose subject the caller may not know. */
export async function afterFindEhr(
  context: StoreContext,
  request: AfterFindRequest,
): Promise<Parse.Object[]> {
  const { objects } = request
  const caller = await loadCaller(request)
  if (caller.unrestricted || objects.length === 0) return objects
  const namedEhrIds = await findNamedEhrs(context, caller)
  for (const object of objects)
    if (object.get(SUBJECT_FIELD) !== caller.userId && !namedEhrIds.has(object.id ?? ''))
      object.unset(SUBJECT_FIELD)
  return objects
}
