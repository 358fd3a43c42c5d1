import type { Closing } from '../../schemas/care-plan-resource.ts'
import { alreadyClosed } from '../care-plans/contents/rules.ts'
import type { IfMatch } from '../store/decisions.ts'
import type { Caller } from '../store/documents/caller.ts'
import type { Saved } from '../store/documents/parse-format.ts'
import type { Page, PageOf } from '../store/reading/listing.ts'
import type { PastChange } from '../store/store.ts'
import type { Transaction } from '../store/writing/transaction.ts'
import { judgeChange, refuseViolations } from './judge.ts'

/** The id, and where the path says that it belongs: both must be true. */
export interface PartKey {
  id: string
  ehrId: string
  carePlanId?: string
  goalId?: string
}

/** The versions that the caller accepts to overwrite, and the transaction to take part in. */
export interface Writing {
  /** Whether an earlier attempt of the same request may have done it. */
  again?: boolean
  ifMatch?: IfMatch
  tx?: Transaction | undefined
}

interface Closable {
  ehrId: string
  carePlanId?: string
  goalId?: string
  language?: string
  status: 'ACTIVE' | 'COMPLETED' | 'CANCELLED'
  outcome?: string
  achievementDate?: string
}

/** What a part needs of its store. */
interface PartStore<T> {
  update(caller: Caller, key: PartKey, change: (now: Saved<T>) => T, options: Writing): Promise<Saved<T>>
  updateAll(
    caller: Caller,
    ids: readonly string[],
    change: (now: Saved<T>) => T,
    tx: Transaction,
  ): Promise<Saved<T>[]>
  history(caller: Caller, key: PartKey, page: PageOf): Promise<Page<PastChange<T>>>
  restore(
    caller: Caller,
    key: PartKey,
    version: number,
    rule: (now: Saved<T>, former: Saved<T>) => T,
    options: Writing,
  ): Promise<Saved<T>>
}

/** A body in which null stands for what is left out. */
type Body<T> = { [K in keyof T]?: T[K] | null | undefined }

/** What may happen to a care plan, a goal and a task alike, under the rules of its class. */
export class Part<T extends Closable> {
  readonly #className: 'CarePlan' | 'Goal' | 'Task'
  readonly #store: PartStore<T>

  constructor(className: 'CarePlan' | 'Goal' | 'Task', store: PartStore<T>) {
    this.#className = className
    this.#store = store
  }

  /** What the body leaves out is removed, but for the place, the status and the language. @throws as close */
  replace(caller: Caller, key: PartKey, body: Body<T>, options: Writing): Promise<Saved<T>> {
    const given = set(body)
    return this.#update(caller, key, (now) => ({ ...staying(now), ...given }) as T, options)
  }

  /** @throws NotFound; Forbidden; PreconditionFailed; RuleViolated, also when it is closed already */
  close(
    caller: Caller,
    key: PartKey,
    { status = 'COMPLETED', outcome, achievementDate }: Closing,
    options: Writing,
  ): Promise<Saved<T>> {
    const change = (now: Saved<T>): T => {
      if (now.status !== 'ACTIVE') refuseViolations([alreadyClosed])
      const told = { outcome, achievementDate }
      const given = Object.fromEntries(Object.entries(told).filter(([, value]) => value !== undefined))
      return set({ ...now, ...given, status }) as T
    }
    return this.#update(caller, key, change, options)
  }

  /** Closes those that are open, together. */
  async closeAll(
    caller: Caller,
    parts: readonly Saved<T>[],
    status: 'COMPLETED' | 'CANCELLED',
    tx: Transaction,
  ): Promise<Saved<T>[]> {
    const open = parts.flatMap((part) => (part.status === 'ACTIVE' ? [part.id] : []))
    const close = (now: Saved<T>): T => judgeChange<T>(this.#className, now, { ...now, status })
    const closed = await this.#store.updateAll(caller, open, close, tx)
    const byId = new Map(closed.map((part) => [part.id, part]))
    return parts.map((part) => byId.get(part.id) ?? part)
  }

  history(caller: Caller, key: PartKey, page: PageOf) {
    return this.#store.history(caller, key, page)
  }

  /** Brings back what a former version said; what was closed since stays closed. @throws as close */
  restore(caller: Caller, key: PartKey, version: number, options: Writing): Promise<Saved<T>> {
    const rule = (now: Saved<T>, former: Saved<T>): T =>
      judgeChange<T>(this.#className, now, { ...former, ...staying(now) })
    return this.#store.restore(caller, key, version, rule, options)
  }

  #update(caller: Caller, key: PartKey, change: (now: Saved<T>) => T, options: Writing): Promise<Saved<T>> {
    return this.#store.update(
      caller,
      key,
      (now) => judgeChange<T>(this.#className, now, change(now)),
      options,
    )
  }
}

/** Closes, unless an earlier attempt of the same request has done so. */
export async function unlessClosed<T extends Pick<Closable, 'status'>>(
  { again }: Writing,
  { status = 'COMPLETED' }: Closing,
  find: () => Promise<T>,
  close: () => Promise<T>,
): Promise<T> {
  const found = again ? await find() : undefined
  return found?.status === status ? found : close()
}

const staying = ({ ehrId, carePlanId, goalId, language, status }: Closable) =>
  set({ ehrId, carePlanId, goalId, language, status })

/** Only what is set. */
export const set = <T extends object>(values: T): { [K in keyof T]: Exclude<T[K], null> } =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null && value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], null>
  }
