import Parse from 'parse/node'
import { findAnonymizedEhrs } from '../../records/ehrs/rights/anonymity.ts'
import type { StoreContext } from '../../records/store/writing/transaction.ts'
import { loadCaller } from '../request/caller.ts'

const SUBJECT_FIELD = 'subjectId'

/** The SDK's type lacks the objects. */
type AfterFindRequest = Parse.Cloud.AfterFindRequest & { objects: Parse.Object[] }

/** Restricts queries by subject to EHRs whose subject the caller may know: they could guess it letter by letter. */
export async function beforeFindEhr(
  context: StoreContext,
  request: Parse.Cloud.BeforeFindRequest<Parse.Object>,
): Promise<Parse.Query | undefined> {
  const { where, ...rest } = request.query.toJSON()
  if (!JSON.stringify([where, rest]).includes(SUBJECT_FIELD)) return undefined
  const anonymizedIds = await findAnonymizedEhrs(context, await loadCaller(request))
  if (anonymizedIds.size === 0) return undefined
  const condition = { objectId: { $nin: [...anonymizedIds] } }
  return new Parse.Query('Ehr').withJSON({ ...rest, where: { $and: [where, condition] } })
}

/** Removes the subject from anonymized EHRs. */
export async function afterFindEhr(
  context: StoreContext,
  request: AfterFindRequest,
): Promise<Parse.Object[]> {
  const { objects } = request
  if (objects.length === 0) return objects
  const anonymizedIds = await findAnonymizedEhrs(context, await loadCaller(request))
  for (const object of objects) if (anonymizedIds.has(object.id ?? '')) object.unset(SUBJECT_FIELD)
  return objects
}
