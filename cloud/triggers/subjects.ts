import Parse from 'parse/node'
import { unnamedFor } from '../../records/ehrs/rights/anonymity.ts'
import type { Records } from '../../records/store/writing/transaction.ts'
import { callerOf } from '../request/caller.ts'

const SUBJECT = 'subjectId'

type FindRequest = Parse.Cloud.BeforeFindRequest<Parse.Object>
/** The types do not know the objects. */
type Found = Parse.Cloud.AfterFindRequest & { objects: Parse.Object[] }

/**
 * Has what is asked by the subject find only EHRs of which the caller may know it; else its answers would tell it, one
 * letter after the other.
 */
export async function beforeFindEhr(
  records: Records,
  request: FindRequest,
): Promise<Parse.Query | undefined> {
  const { where, ...rest } = request.query.toJSON()
  if (!JSON.stringify([where, rest]).includes(SUBJECT)) return undefined
  const unnamed = await unnamedFor(records, await callerOf(request))
  if (unnamed.size === 0) return undefined
  const named = { objectId: { $nin: [...unnamed] } }
  return new Parse.Query('Ehr').withJSON({ ...rest, where: { $and: [where, named] } })
}

/** Takes the subject out of the EHRs whose subject stays unnamed. */
export async function afterFindEhr(records: Records, request: Found): Promise<Parse.Object[]> {
  const { objects } = request
  if (objects.length === 0) return objects
  const unnamed = await unnamedFor(records, await callerOf(request))
  for (const object of objects) if (unnamed.has(object.id ?? '')) object.unset(SUBJECT)
  return objects
}
