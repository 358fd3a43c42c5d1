import type { Static, TObject } from '@sinclair/typebox'
import type { Closing } from '../../schemas/care-plan-resource.ts'
import type { Caller } from '../store/documents/caller.ts'
import type { Saved } from '../store/documents/parse-format.ts'
import type { Transaction } from '../store/writing/transaction.ts'
import { refuseViolations } from './refusals/refusals.ts'
import { type Key, Registered, type Writing } from './registered.ts'
import { alreadyClosed } from './rules.ts'

export type ClosingStatus = 'COMPLETED' | 'CANCELLED'

const statusOf = (record: unknown) => (record as { status: 'ACTIVE' | ClosingStatus }).status

/** The records of a kind that has a status: a care plan, a goal, a task. */
export class Closable<S extends TObject, L extends string> extends Registered<S, L> {
  /** @throws NotFound; Forbidden; PreconditionFailed; RuleViolated, also when it is closed already */
  close(
    caller: Caller,
    key: Key,
    { status = 'COMPLETED', outcome, achievementDate }: Closing,
    options: Writing,
  ): Promise<Saved<Static<S>>> {
    const told = Object.entries({ outcome, achievementDate }).filter(([, value]) => value !== undefined)
    const close = (now: Saved<Static<S>>) => {
      if (statusOf(now) !== 'ACTIVE') refuseViolations([alreadyClosed])
      return { ...(now as object), ...Object.fromEntries(told), status }
    }
    return this.change(caller, key, close, options)
  }

  /** Closes those that are open, together. */
  async closeAll(
    caller: Caller,
    records: readonly Saved<Static<S>>[],
    status: ClosingStatus,
    tx: Transaction,
  ): Promise<Saved<Static<S>>[]> {
    const open = records.flatMap((one) => (statusOf(one) === 'ACTIVE' ? [one.id] : []))
    const closed = await this.closeOpen(caller, open, status, tx)
    const byId = new Map(closed.map((one) => [one.id, one]))
    return records.map((one) => byId.get(one.id) ?? one)
  }

  /** Closes those of which the transaction sees that they are open. */
  closeOpen(
    caller: Caller,
    ids: readonly string[],
    status: ClosingStatus,
    tx: Transaction,
  ): Promise<Saved<Static<S>>[]> {
    const close = (now: Saved<Static<S>>) => this.validated(caller, now, { ...(now as object), status })
    return this.store.updateAll(caller, ids, close, tx)
  }
}

/** Closes, unless an earlier attempt of the same request has done so. */
export async function unlessClosed<T>(
  { again }: Writing,
  { status = 'COMPLETED' }: Closing,
  find: () => Promise<T>,
  close: () => Promise<T>,
): Promise<T> {
  const found = again ? await find() : undefined
  return found && statusOf(found) === status ? found : close()
}
