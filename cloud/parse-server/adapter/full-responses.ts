import { toAcl } from '../../../schemas/forms/class-form.ts'
import type { ToObject } from './trigger-read-cache.ts'

type AdapterCreate = (
  this: unknown,
  className: string,
  schema: unknown,
  ...rest: unknown[]
) => Promise<{ ops: object[] }>
type AdapterUpdate = (this: unknown, className: string, ...rest: unknown[]) => Promise<object | null>

/** Writes of Parse Server's storage adapter that create or update one object. */
export interface SavingAdapter {
  createObject: AdapterCreate
  findOneAndUpdate: AdapterUpdate
}

type SanitizeResult = (this: unknown, sent: object, stored: StoredObject) => Promise<object>

/** Creates the response to a write from the stored object. */
export interface WriteResponder {
  _sanitizeDatabaseResult: SanitizeResult
}

interface StoredObject {
  _rperm?: string[]
  _wperm?: string[]
}

/** Runs after an object was created, before the response is sent. */
export type AfterCreate = (className: string, object: Record<string, unknown>) => Promise<void>

/** Makes Parse Server respond with full objects. */
export type EnableFullResponses = (afterCreate: AfterCreate) => void

/**
 * Parse Server responds to a write with the fields that it changed; we respond with the full object, as stored.
 * An afterSave trigger could do so too, but Parse would build the object again for it, which takes some 0.1 ms. Parse
 * removes from the response what the client sent, but leaves its toJSON alone.
 */
export function respondWithFullObjects(
  adapter: SavingAdapter,
  answers: WriteResponder,
  toObject: ToObject,
  afterCreate: AfterCreate,
): void {
  const { createObject, findOneAndUpdate } = adapter
  const { _sanitizeDatabaseResult: respond } = answers
  const inFull = new WeakSet<StoredObject>()
  const isOurs = (className: string): boolean => !className.startsWith('_')

  adapter.createObject = async function (className, schema, ...rest) {
    const result = await createObject.call(this, className, schema, ...rest)
    if (!isOurs(className)) return result
    const created = toObject(className, result.ops[0] ?? {}, schema)
    inFull.add(created)
    await afterCreate(className, created)
    return { ops: [created] }
  }

  adapter.findOneAndUpdate = async function (className, ...rest) {
    const updated = await findOneAndUpdate.call(this, className, ...rest)
    if (updated && isOurs(className)) inFull.add(updated)
    return updated
  }

  answers._sanitizeDatabaseResult = async function (sent, stored) {
    const response = await respond.call(this, sent, stored)
    return inFull.has(stored)
      ? Object.defineProperty(response, 'toJSON', { value: () => toClientJson(stored) })
      : response
  }
}

/** Converts a stored object to the class form, with its permissions as ACL. */
export const toClientJson = ({ _rperm = [], _wperm = [], ...fields }: StoredObject): object => ({
  ...fields,
  ACL: toAcl({ read: _rperm, write: _wperm }),
})
