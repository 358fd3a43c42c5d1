import type { FindParent } from '../../../records/ehr-records/parents.ts'
import type { WriteAheadRecorder } from '../../../records/store/write-ahead.ts'
import type { StoreContext } from '../../../records/store/writing/transaction.ts'
import type { WrapNextWrite } from '../../parse-server/adapter/adapter-writes.ts'

/** Dependencies of the triggers. */
export interface TriggerContext {
  records: StoreContext
  find: FindParent
  announce: WriteAheadRecorder
  joinWrite: WrapNextWrite
}
