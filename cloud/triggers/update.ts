import type Parse from 'parse/node'
import { alreadyClosed } from '../../records/care-plans/rules.ts'
import { classRules } from '../../records/class-rules.ts'
import type { Database } from '../../records/database.ts'
import { updateFaults } from '../../records/validation.ts'
import type { ClassName } from '../../schemas/classes.ts'
import { callerOf } from '../caller.ts'
import { invalid, refuseFaults } from '../errors.ts'
import type { Family } from './create.ts'
import { changedProperties, dropAcl, valuesOf } from './values.ts'

type Request = Parse.Cloud.BeforeSaveRequest

/** Judges an update and the object that it makes. Parse has made sure that the caller may write it. */
export async function beforeUpdate(
  { records, announce }: Family,
  className: ClassName,
  request: Request,
): Promise<void> {
  const { object } = request
  const stored = request.original ? valuesOf(request.original) : {}
  dropAcl(object)
  const changed = changedProperties(object, stored)
  const values = valuesOf(object)
  refuseFaults(updateFaults(className, values, changed))
  writeTogether(className, object, values, changed)
  object.increment('version')
  const ehrId = className === 'Ehr' ? object.id : object.get('ehrId')
  const write = { action: 'update', collection: className, id: object.id ?? null, ehrId, changed } as const
  await announce(await callerOf(request), write)
  if (changed.includes('status')) await close(records, className, object)
}

/** Properties that were judged together are written together, derived ones with them. */
function writeTogether(
  className: ClassName,
  object: Parse.Object,
  values: Record<string, unknown>,
  changed: readonly string[],
): void {
  const { together, derived } = classRules[className]
  if (!together.some((name) => changed.includes(name))) return
  for (const name of together)
    if (name in values) object.set(name, object.get(name))
    else object.unset(name)
  object.set(derived?.(values) ?? {})
}

interface Closable {
  _id: string
  status: string
  version: number
}

/**
 * A status leaves ACTIVE once. Two that close at the same instant both read ACTIVE: the database decides,
 * before Parse writes the whole update. That makes two writes of it, hence two versions.
 */
async function close({ db }: Database, className: ClassName, object: Parse.Object): Promise<void> {
  const { matchedCount } = await db
    .collection<Closable>(className)
    .updateOne(
      { _id: object.id ?? '', status: 'ACTIVE' },
      { $set: { status: object.get('status') }, $inc: { version: 1 } },
    )
  if (matchedCount === 0) throw invalid(alreadyClosed)
}
