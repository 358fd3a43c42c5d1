import { ServiceError } from '../../schemas/errors.ts'
import type { AppGrants } from '../accounts/apps/app-grants.ts'
import type { ChangedRecord, RecordChange } from '../history/changes.ts'
import { type PeriodicTask, startPeriodicTask } from '../store/batching/periodic-task.ts'
import { authorOf, type Caller, isPermitted } from '../store/documents/caller.ts'
import type { StoreContext } from '../store/writing/transaction.ts'
import type { ChangeFeed, FeedSubscriber } from './change-feed.ts'
import { type FeedPosition, formatPosition, parsePosition } from './change-log.ts'
import { SubscriptionAudit, type SubscriptionAuditLog } from './subscription-audit.ts'

/** The caller of a subscription, which ends with the session or when the token expires. */
export interface Subscriber {
  caller: Caller
  sid: string
  until: Date
  /** The last position that the caller has received; undefined: start now. */
  from?: string | undefined
  /** Without a position: the seconds before now whose changes are delivered, too. */
  lookBack?: number | undefined
}

/** Finds the rights of those who have tokens. */
type TokenHolders = Pick<AppGrants, 'findRights'>

/** The topic of a subscription. */
export interface SubscriptionTopic {
  concerns(change: ChangedRecord): boolean
  /** Decides by the record itself, when the ids do not suffice. */
  includes?(change: RecordChange, caller: Caller): boolean
  /** Whether the caller is told of a change of a record that they may not, or no longer, read. */
  isTold?(change: RecordChange, caller: Caller): boolean
  /** Whether the caller may still access the topic; called periodically. */
  isReachable(caller: Caller): Promise<boolean>
  /** The listener shows none of the changed records, and audits what it reads by itself. */
  isAuditedByListener?: true
}

/** Receives the changes of a subscription. */
export interface ChangeListener {
  onChange(change: RecordChange, caller: Caller): Promise<void> | void
  /** All changes up to this position have been delivered. */
  onPosition(position: string, caller: Caller): void
  /** Earlier changes are lost: the caller must read everything again. */
  onReset(): void
  onEnd(): void
}

/** Maximum number of subscriptions on one instance: per account, and per app to which it gave access; and in total. */
const MAX_SUBSCRIPTIONS_PER_USER = 20
const MAX_SUBSCRIPTIONS = 5_000
/** Maximum backlog of a subscription; a slower subscriber is disconnected. */
const MAX_UNDELIVERED_CHANGES = 5_000
const SUBSCRIPTION_CHECK_INTERVAL_MS = 1_000
const CHECKS_PER_ACCESS_CHECK = 3
const CHECKS_PER_HEARTBEAT = 15

/** The subscriptions of the path family. */
export class Subscriptions {
  readonly #feed: ChangeFeed
  readonly #holders: TokenHolders
  readonly #subscriptionAudit: SubscriptionAudit
  readonly #open = new Set<Subscription>()
  readonly #loop: PeriodicTask
  #checks = 0

  constructor(
    context: StoreContext,
    feed: ChangeFeed,
    holders: TokenHolders,
    onFault: (fault: unknown) => void,
  ) {
    this.#feed = feed
    this.#holders = holders
    this.#subscriptionAudit = new SubscriptionAudit(context.audit, onFault)
    this.#loop = startPeriodicTask(SUBSCRIPTION_CHECK_INTERVAL_MS, () => this.#check(), onFault)
  }

  /**
   * Delivers changes from a position on, or from now on.
   * @returns a function that ends the subscription; the listener is told when it ends by itself
   * @throws TooManyRequests; Unavailable
   */
  async subscribe(
    subscriber: Subscriber,
    topic: SubscriptionTopic,
    listener: ChangeListener,
  ): Promise<() => void> {
    const holder = holderOf(subscriber.caller)
    const subscriptionCount = [...this.#open].filter((one) => one.holder === holder).length
    if (subscriptionCount >= MAX_SUBSCRIPTIONS_PER_USER || this.#open.size >= MAX_SUBSCRIPTIONS)
      throw new ServiceError('TooManyRequests', {
        retryAfter: 60,
        detail: 'Too many streams of changes are open. Close one, or try again in a minute.',
      })
    const one = new Subscription(subscriber, topic, listener, this.#holders, this.#subscriptionAudit)
    this.#open.add(one)
    one.onEnd = () => {
      this.#open.delete(one)
      this.#feed.unsubscribe(one)
    }
    try {
      one.start(this.#feed, await this.#feed.subscribe(one))
    } catch (error) {
      one.end()
      throw error
    }
    return () => one.end()
  }

  async end(): Promise<void> {
    await this.#loop.stop()
    for (const one of this.#open) one.end()
    await this.#subscriptionAudit.flush()
  }

  /** Ends subscriptions without access, and sends heartbeats to the others. */
  async #check(): Promise<void> {
    this.#checks += 1
    const forAccess = this.#checks % CHECKS_PER_ACCESS_CHECK === 0
    const withHeartbeat = this.#checks % CHECKS_PER_HEARTBEAT === 0
    await Promise.all([...this.#open].map((one) => one.check(forAccess, withHeartbeat)))
  }
}

/** Whose subscriptions are counted together: an app must not use up those of its user. */
const holderOf = (caller: Caller): string => `${authorOf(caller).userId} ${caller.app?.id ?? ''}`

class Subscription implements FeedSubscriber {
  readonly #topic: SubscriptionTopic
  readonly #listener: ChangeListener
  readonly #holders: TokenHolders
  readonly #subscriptionAudit: SubscriptionAudit
  readonly #auditLog: SubscriptionAuditLog
  readonly #subscriber: Subscriber
  #caller: Caller
  #position: FeedPosition | undefined
  #delivery: Promise<void> = Promise.resolve()
  #undelivered = 0
  #ended = false
  onEnd: () => void = () => {}

  constructor(
    subscriber: Subscriber,
    topic: SubscriptionTopic,
    listener: ChangeListener,
    holders: TokenHolders,
    subscriptionAudit: SubscriptionAudit,
  ) {
    this.#subscriber = subscriber
    this.#caller = subscriber.caller
    this.#topic = topic
    this.#listener = listener
    this.#holders = holders
    this.#subscriptionAudit = subscriptionAudit
    this.#auditLog = subscriptionAudit.open()
  }

  get holder(): string {
    return holderOf(this.#caller)
  }

  concerns(change: ChangedRecord): boolean {
    return this.#topic.concerns(change)
  }

  /** Delivers missed changes before new ones. */
  start(feed: ChangeFeed, position: FeedPosition): void {
    this.#enqueue(async () => {
      const batches = await this.#findMissed(feed, position)
      if (!batches) this.#listener.onReset()
      else for await (const changes of batches) await this.#deliver(changes)
      this.#position = position
      this.#listener.onPosition(formatPosition(position), this.#caller)
    })
  }

  /** @returns undefined when they are not known any more, or too many */
  async #findMissed(feed: ChangeFeed, position: FeedPosition) {
    const { from, lookBack = 0 } = this.#subscriber
    const concerns = (change: ChangedRecord) => this.concerns(change)
    if (from !== undefined) {
      const fromPosition = parsePosition(from)
      return fromPosition && feed.changesBetween(fromPosition, position, concerns)
    }
    if (lookBack === 0) return []
    const recent = await feed.changesShortlyBefore(position, lookBack * 1000, concerns)
    return recent && [recent]
  }

  deliver(changes: readonly RecordChange[], position: FeedPosition): void {
    if (changes.length === 0 && this.#undelivered === 0) {
      this.#position = position
      return
    }
    this.#undelivered += changes.length
    if (this.#undelivered > MAX_UNDELIVERED_CHANGES) this.end()
    else
      this.#enqueue(async () => {
        await this.#deliver(changes)
        this.#position = position
        this.#undelivered -= changes.length
      })
  }

  async check(forAccess: boolean, withHeartbeat: boolean): Promise<void> {
    try {
      await this.#auditLog.flush()
      if (!(await this.#isAllowed(forAccess))) return this.end()
    } catch {
      // If the check fails, the subscription ends.
      return this.end()
    }
    if (withHeartbeat && this.#position && this.#undelivered === 0)
      this.#listener.onPosition(formatPosition(this.#position), this.#caller)
  }

  end(): void {
    if (this.#ended) return
    this.#ended = true
    this.onEnd()
    this.#listener.onEnd()
    this.#subscriptionAudit.close(this.#auditLog, this.#delivery)
  }

  async #isAllowed(forAccess: boolean): Promise<boolean> {
    const { caller, sid, until } = this.#subscriber
    const rights = await this.#holders.findRights(caller, sid)
    if (!rights || until.getTime() <= Date.now()) return false
    const { roles, helper, app } = rights
    this.#caller = { ...caller, roles, helper, app }
    return !forAccess || this.#topic.isReachable(this.#caller)
  }

  async #deliver(changes: readonly RecordChange[]): Promise<void> {
    if (this.#ended) return
    if (!(await this.#isAllowed(false))) return this.end()
    const { includes = () => true, isTold = () => false } = this.#topic
    const visible = changes.filter(
      (one) =>
        (isPermitted((one.after ?? one.before)?._rperm, this.#caller) || isTold(one, this.#caller)) &&
        includes(one, this.#caller),
    )
    if (!this.#topic.isAuditedByListener) await this.#auditLog.record(this.#caller, visible)
    for (const one of visible) if (!this.#ended) await this.#listener.onChange(one, this.#caller)
  }

  #enqueue(work: () => Promise<void>): void {
    this.#delivery = this.#delivery.then(work).catch(() => this.end())
  }
}
