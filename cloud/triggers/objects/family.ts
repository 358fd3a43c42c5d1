import type { FindHolder } from '../../../records/registered/into.ts'
import type { Announce } from '../../../records/store/announce.ts'
import type { Records } from '../../../records/store/writing/transaction.ts'
import type { JoinWrite } from '../../parse-server/adapter/joint-writes.ts'

/** What the triggers of the class family work with. */
export interface Family {
  records: Records
  find: FindHolder
  announce: Announce
  joinWrite: JoinWrite
}
