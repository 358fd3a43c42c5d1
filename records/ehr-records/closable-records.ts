import type { Static, TObject } from '@sinclair/typebox'
import type { ClosingRequest } from '../../schemas/care-plans/care-plan-resource.ts'
import type { Caller } from '../store/documents/caller.ts'
import type { SavedRecord } from '../store/documents/parse-format.ts'
import type { Transaction } from '../store/writing/transaction.ts'
import { type EhrRecordKey, EhrRecords, type EhrWriteOptions } from './ehr-records.ts'
import type { Values } from './kind.ts'
import { closedRecordViolations, isClosed } from './refusals/closed-records.ts'
import { requireNoViolations } from './refusals/refusals.ts'

export type ClosedStatus = 'COMPLETED' | 'CANCELLED'

const closableStatusOf = (record: unknown) => (record as { status: 'ACTIVE' | ClosedStatus }).status

/** The records of a kind with a status: care plans, goals, tasks. */
export class ClosableRecords<S extends TObject, L extends string> extends EhrRecords<S, L> {
  /** @throws NotFound; Forbidden; PreconditionFailed; RuleViolated, also when the record is already closed */
  close(
    caller: Caller,
    key: EhrRecordKey,
    { status = 'COMPLETED', outcome, achievementDate }: ClosingRequest,
    options: EhrWriteOptions,
  ): Promise<SavedRecord<Static<S>>> {
    const closingFields = Object.entries({ outcome, achievementDate }).filter(
      ([, value]) => value !== undefined,
    )
    const close = (current: SavedRecord<Static<S>>) => {
      requireNoViolations(closedRecordViolations(this.kind.fields, current as Values, ['status']))
      return { ...(current as object), ...Object.fromEntries(closingFields), status }
    }
    return this.applyChange(caller, key, close, options)
  }

  /** Closes the open ones among these records in one update. */
  async closeAll(
    caller: Caller,
    records: readonly SavedRecord<Static<S>>[],
    status: ClosedStatus,
    tx: Transaction,
  ): Promise<SavedRecord<Static<S>>[]> {
    const open = records.flatMap((one) => (isClosed(one as object) ? [] : [one.id]))
    const closedRecords = await this.closeOpen(caller, open, status, tx)
    const byId = new Map(closedRecords.map((one) => [one.id, one]))
    return records.map((one) => byId.get(one.id) ?? one)
  }

  /** Closes records that are open within the transaction. */
  closeOpen(
    caller: Caller,
    ids: readonly string[],
    status: ClosedStatus,
    tx: Transaction,
  ): Promise<SavedRecord<Static<S>>[]> {
    const close = (current: SavedRecord<Static<S>>) =>
      this.validateChange(caller, current, { ...(current as object), status })
    return this.store.updateAll(caller, ids, close, tx)
  }
}

/** Closes a record, unless an earlier attempt of the same request has closed it. */
export async function closeOrFindClosed<T>(
  { isRetry }: EhrWriteOptions,
  { status = 'COMPLETED' }: ClosingRequest,
  find: () => Promise<T>,
  close: () => Promise<T>,
): Promise<T> {
  const earlier = isRetry ? await find() : undefined
  return earlier && closableStatusOf(earlier) === status ? earlier : close()
}
