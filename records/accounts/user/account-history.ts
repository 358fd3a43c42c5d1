import type { Caller } from '../../store/documents/caller.ts'
import type { ParseDocument } from '../../store/documents/parse-format.ts'
import { createHistoryEntry, type HistoryEntry } from '../../store/writing/history.ts'
import type { User } from './user.ts'

/** The history entry of a change of an account. @param user the account before */
export const accountHistoryEntry = (
  user: User,
  commit: { caller: Caller; at: Date },
  change: Pick<HistoryEntry, 'action' | 'before' | 'changed'>,
): HistoryEntry =>
  createHistoryEntry({ collection: '_User', id: user._id }, commit, { ...change, version: user.version + 1 })

/** An account as the history stores it: without passwords and tokens. */
export function withoutSecrets(user: User): ParseDocument {
  const { _id, _rperm = [], _wperm = [], _created_at, _updated_at, version, ...rest } = user
  const open = Object.fromEntries(Object.entries(rest).filter(([key]) => !key.startsWith('_')))
  return { ...open, _id, _rperm, _wperm, _created_at, _updated_at, version }
}
