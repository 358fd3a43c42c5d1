import type { FindHolder } from '../../records/registered/into.ts'
import type { Announce } from '../../records/store/announce.ts'
import type { Records } from '../../records/store/writing/transaction.ts'
import type { WriteAlong } from '../parse-server/adapter/written-along.ts'

/** What the records of the class family lie in, and are looked up by. */
export interface Family {
  records: Records
  find: FindHolder
  announce: Announce
  writeAlong: WriteAlong
}
