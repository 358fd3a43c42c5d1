import type { ClientSession, Db } from 'mongodb'
import type { Caller } from '../../store/documents/caller.ts'
import type { ParseDocument } from '../../store/documents/parse-format.ts'
import { changeOf, keepChanges } from '../../store/writing/history.ts'
import type { User } from './user.ts'

interface AccountChange {
  action: 'update' | 'delete'
  /** The account as it was. */
  user: User
  before: ParseDocument | null
  changed: string[]
}

/** Keeps in the history what becomes of an account. */
export async function noteChange(
  db: Db,
  session: ClientSession,
  by: { caller: Caller; at: Date },
  { user, ...change }: AccountChange,
): Promise<void> {
  const entry = changeOf({ collection: '_User', id: user._id }, by, { ...change, version: user.version + 1 })
  await keepChanges(db, [entry], session)
}

/** An account as the history keeps it: without passwords and tokens. */
export function withoutSecrets(user: User): ParseDocument {
  const { _id, _acl = {}, _rperm = [], _wperm = [], _created_at, _updated_at, version, ...rest } = user
  const open = Object.fromEntries(Object.entries(rest).filter(([key]) => !key.startsWith('_')))
  return { ...open, _id, _acl, _rperm, _wperm, _created_at, _updated_at, version }
}
