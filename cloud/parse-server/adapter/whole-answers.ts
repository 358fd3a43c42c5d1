import type { ToObject } from './read-once.ts'

type Create = (
  this: unknown,
  className: string,
  schema: unknown,
  ...rest: unknown[]
) => Promise<{ ops: object[] }>
type Update = (this: unknown, className: string, ...rest: unknown[]) => Promise<object | null>

/** The writes of Parse Server's storage adapter that make or change one object. */
export interface SavingAdapter {
  createObject: Create
  findOneAndUpdate: Update
}

type Answer = (this: unknown, asked: object, written: Written) => Promise<object>

/** What makes the answer to a write from what was written. */
export interface WriteAnswers {
  _sanitizeDatabaseResult: Answer
}

interface Written {
  _rperm?: string[]
  _wperm?: string[]
}

/** Done about an object that was created, before its client is told. */
export type AfterCreate = (className: string, object: Record<string, unknown>) => Promise<void>

/** Has Parse Server answer with whole objects. */
export type AnswerWhole = (afterCreate: AfterCreate) => void

/**
 * Parse Server answers a write with what it has changed of it; ours is the whole object, as it lies in the database.
 * A trigger after the write could say so too, but Parse builds the object anew for it, in some 0.1 ms. Parse strips the
 * answer of what the client knows; how it reads in JSON it leaves alone.
 */
export function answerWhole(
  adapter: SavingAdapter,
  answers: WriteAnswers,
  toObject: ToObject,
  afterCreate: AfterCreate,
): void {
  const { createObject, findOneAndUpdate } = adapter
  const { _sanitizeDatabaseResult: answer } = answers
  const whole = new WeakSet<Written>()
  const isOurs = (className: string): boolean => !className.startsWith('_')

  adapter.createObject = async function (className, schema, ...rest) {
    const result = await createObject.call(this, className, schema, ...rest)
    if (!isOurs(className)) return result
    const created = toObject(className, result.ops[0] ?? {}, schema)
    whole.add(created)
    await afterCreate(className, created)
    return { ops: [created] }
  }

  adapter.findOneAndUpdate = async function (className, ...rest) {
    const updated = await findOneAndUpdate.call(this, className, ...rest)
    if (updated && isOurs(className)) whole.add(updated)
    return updated
  }

  answers._sanitizeDatabaseResult = async function (asked, written) {
    const told = await answer.call(this, asked, written)
    return whole.has(written) ? Object.defineProperty(told, 'toJSON', { value: () => shown(written) }) : told
  }
}

function shown({ _rperm = [], _wperm = [], ...fields }: Written): object {
  const ACL: Record<string, { read?: true; write?: true }> = {}
  for (const who of _rperm) ACL[who] = { read: true }
  for (const who of _wperm) ACL[who] = { ...ACL[who], write: true }
  return { ...fields, ACL }
}
