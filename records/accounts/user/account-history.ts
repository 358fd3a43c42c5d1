import type { ClientSession, Db } from 'mongodb'
import type { Caller } from '../../store/documents/caller.ts'
import type { ParseDocument } from '../../store/documents/parse-format.ts'
import { createHistoryEntry, saveHistory } from '../../store/writing/history.ts'
import type { User } from './user.ts'

interface AccountChange {
  action: 'update' | 'delete'
  /** The account before the change. */
  user: User
  before: ParseDocument | null
  changed: string[]
}

/** Writes a change of an account to the history. */
export async function recordAccountChange(
  db: Db,
  session: ClientSession,
  by: { caller: Caller; at: Date },
  { user, ...change }: AccountChange,
): Promise<void> {
  const entry = createHistoryEntry({ collection: '_User', id: user._id }, by, {
    ...change,
    version: user.version + 1,
  })
  await saveHistory(db, [entry], session)
}

/** An account as the history stores it: without passwords and tokens. */
export function withoutSecrets(user: User): ParseDocument {
  const { _id, _rperm = [], _wperm = [], _created_at, _updated_at, version, ...rest } = user
  const open = Object.fromEntries(Object.entries(rest).filter(([key]) => !key.startsWith('_')))
  return { ...open, _id, _rperm, _wperm, _created_at, _updated_at, version }
}
