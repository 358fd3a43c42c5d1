import { randomUUID } from 'node:crypto'
import { setImmediate as giveWay } from 'node:timers/promises'
import type { Sessions } from '../../records/accounts/login/sessions.ts'
import { findAnonymizedEhrs } from '../../records/ehrs/rights/anonymity.ts'
import type { ChangedRecord, RecordChange } from '../../records/history/changes.ts'
import type { RateLimiter } from '../../records/limits/rate-limiter.ts'
import type { ChangeFeed, FeedSubscriber } from '../../records/live/change-feed.ts'
import { SubscriptionAudit, type SubscriptionAuditLog } from '../../records/live/subscription-audit.ts'
import { type PeriodicTask, startPeriodicTask } from '../../records/store/batching/periodic-task.ts'
import { authorOf, type Caller } from '../../records/store/documents/caller.ts'
import type { ParseDocument } from '../../records/store/documents/parse-format.ts'
import { isDeadlineError } from '../../records/store/reading/deadlines.ts'
import type { StoreContext } from '../../records/store/writing/transaction.ts'
import { requireFewNamedIds } from '../http/audit/record-access.ts'
import { findSearchAccesses } from '../http/audit/refused-accesses.ts'
import { requireReadableByHelper } from '../http/helper-access.ts'
import { parseErrorCode, Refusal } from '../http/request/parse-request.ts'
import type { ParseTransform } from '../parse-server/internals.ts'
import { createCallerWithoutRoles } from '../request/caller.ts'
import { hideOtherUsers } from '../request/hide-other-users.ts'
import { toClientObjects } from './client-objects.ts'
import { CLOSE_CODES, type ConnectionHandler, type LiveConnection } from './live-connection.ts'
import { isReadable, type LiveEvent, type LiveQuery, readLiveQuery, toLiveEvent } from './live-query.ts'
import { MatchTime } from './match-time.ts'

export interface LiveQueryDependencies {
  context: StoreContext
  feed: ChangeFeed
  sessions: Pick<Sessions, 'facts' | 'findByToken'>
  consume: RateLimiter
  forms: ParseTransform
  applicationId: string
  /** Client keys of the SDKs. */
  clientKeys: readonly string[]
  onFault: (fault: unknown) => void
}

interface Subscription {
  connection: LiveConnection
  requestId: number
  query: LiveQuery
  sid: string
  caller: Caller
  auditLog: SubscriptionAuditLog
}

type ChangeEvent = LiveEvent & { change: RecordChange }

const MAX_SUBSCRIPTIONS = 100
/** Limit of connections per account and instance. */
const MAX_CONNECTIONS_PER_ACCOUNT = 20
const SESSION_CHECK_INTERVAL_MS = 1000
const SESSION_ENDED_MESSAGE = 'Invalid session token'
const UNAUTHORIZED_MESSAGE =
  'unauthorized: connect with applicationId, and one of javascriptKey, clientKey, restAPIKey and windowsKey'
/** Limit of undelivered changes over all subscriptions. */
const MAX_UNDELIVERED_CHANGES = 50_000

/** Parse's live queries, fed by the change feed: changes of both families on all instances. */
export class LiveQueries implements FeedSubscriber, ConnectionHandler {
  readonly #dependencies: LiveQueryDependencies
  readonly #subscriptionAudits: SubscriptionAudit
  readonly #connections = new Map<LiveConnection, Map<number, Subscription>>()
  readonly #subscriptionsByClass = new Map<string, Set<Subscription>>()
  readonly #sessionCheck: PeriodicTask
  #feedSubscription: Promise<unknown> | undefined
  #lastDelivery: Promise<void> = Promise.resolve()
  #undeliveredCount = 0

  constructor(parts: LiveQueryDependencies) {
    this.#dependencies = parts
    this.#subscriptionAudits = new SubscriptionAudit(parts.context.audit, parts.onFault)
    this.#sessionCheck = startPeriodicTask(
      SESSION_CHECK_INTERVAL_MS,
      () => this.#checkSessions(),
      parts.onFault,
    )
  }

  async connect(connection: LiveConnection, message: Record<string, unknown>): Promise<void> {
    const { applicationId, clientKeys } = this.#dependencies
    const keys = ['javascriptKey', 'clientKey', 'restAPIKey', 'windowsKey'].map((name) => message[name])
    if (message.applicationId !== applicationId || !keys.some((key) => clientKeys.includes(key as string)))
      throw new Refusal(403, parseErrorCode.forbidden, UNAUTHORIZED_MESSAGE)
    connection.installationId = nonEmptyText(message.installationId)
    connection.sessionToken = nonEmptyText(message.sessionToken)
    if (connection.sessionToken !== undefined) await this.#requireSession(connection, connection.sessionToken)
    if (!this.#connections.has(connection)) this.#connections.set(connection, new Map())
  }

  async subscribe(
    connection: LiveConnection,
    requestId: number,
    message: Record<string, unknown>,
  ): Promise<void> {
    const { context, consume, forms } = this.#dependencies
    const session = await this.#requireSession(
      connection,
      nonEmptyText(message.sessionToken) ?? connection.sessionToken,
    )
    await consume('account', session.authorId)
    const subscriptionsOfConnection = this.#connections.get(connection)
    if (!subscriptionsOfConnection || subscriptionsOfConnection.size >= MAX_SUBSCRIPTIONS)
      throw new Refusal(
        400,
        parseErrorCode.forbidden,
        `A connection can have at most ${MAX_SUBSCRIPTIONS} subscriptions.`,
      )
    const query = await readLiveQuery((message.query ?? {}) as Record<string, unknown>, forms)
    const { className, where } = query
    requireFewNamedIds([{ className, where, action: 'query', subqueries: [] }])
    const caller = {
      ...createCallerWithoutRoles(false, { id: session.mvUid }, randomUUID()),
      roles: session.roles,
      helper: session.helper,
    }
    requireReadableByHelper(session.helper, className)
    const asking = { context, caller, roles: async () => [...session.roles] }
    await context.audit.record(...(await findSearchAccesses(asking, { className, where }, new Set())))
    const { sid } = session
    await this.#addSubscription({
      connection,
      requestId,
      query,
      sid,
      caller,
      auditLog: this.#subscriptionAudits.open(),
    })
    connection.send({ op: 'subscribed', requestId })
  }

  unsubscribe(connection: LiveConnection, requestId: number): void {
    const subscription = this.#connections.get(connection)?.get(requestId)
    if (subscription) this.#removeSubscription(subscription)
  }

  onFailed(fault: unknown): void {
    this.#dependencies.onFault(fault)
  }

  onClosed(connection: LiveConnection): void {
    for (const subscription of this.#connections.get(connection)?.values() ?? [])
      this.#removeSubscription(subscription)
    this.#connections.delete(connection)
  }

  concerns({ collection }: ChangedRecord): boolean {
    return this.#subscriptionsByClass.has(collection)
  }

  deliver(changes: readonly RecordChange[]): void {
    if (changes.length === 0) return
    this.#undeliveredCount += changes.length
    if (this.#undeliveredCount > MAX_UNDELIVERED_CHANGES) this.#closeAll(CLOSE_CODES.tryAgain)
    this.#lastDelivery = this.#lastDelivery
      .then(() => this.#deliver(changes))
      .catch((fault) => {
        // Clients must not assume that they received all changes.
        this.#dependencies.onFault(fault)
        this.#closeAll(CLOSE_CODES.tryAgain)
      })
      .finally(() => {
        this.#undeliveredCount -= changes.length
      })
  }

  /** Resolves when all connections are closed. */
  async end(): Promise<void> {
    await this.#sessionCheck.stop()
    await this.#subscriptionAudits.flush()
  }

  /** @throws Refusal when the session has ended */
  async #requireSession(connection: LiveConnection, token: string | undefined) {
    const session = token === undefined ? undefined : await this.#dependencies.sessions.findByToken(token)
    const facts = session && (await this.#dependencies.sessions.facts(session.sid))
    if (!session || !facts) throw new Refusal(401, parseErrorCode.invalidSession, SESSION_ENDED_MESSAGE)
    const authorId = authorOf({ userId: facts.mvUid, helper: facts.helper }).userId
    const otherConnections = [...this.#connections.keys()].filter(
      (one) => one !== connection && one.authorId === authorId,
    )
    if (otherConnections.length >= MAX_CONNECTIONS_PER_ACCOUNT)
      throw new Refusal(
        429,
        parseErrorCode.tooManyRequests,
        `An account can have at most ${MAX_CONNECTIONS_PER_ACCOUNT} connections.`,
      )
    connection.authenticate(authorId)
    return { ...facts, sid: session.sid, authorId }
  }

  /** Resolves when the subscription receives all further changes. */
  async #addSubscription(subscription: Subscription): Promise<void> {
    const { connection, requestId, query } = subscription
    const subscriptionsOfConnection = this.#connections.get(connection)
    if (!subscriptionsOfConnection) return
    subscriptionsOfConnection.set(requestId, subscription)
    this.#subscriptionsByClass.set(
      query.className,
      (this.#subscriptionsByClass.get(query.className) ?? new Set()).add(subscription),
    )
    this.#feedSubscription ??= this.#dependencies.feed.subscribe(this)
    try {
      await this.#feedSubscription
    } catch (error) {
      this.#feedSubscription = undefined
      this.#removeSubscription(subscription)
      throw error
    }
    this.#leaveFeedIfUnused()
  }

  #removeSubscription(subscription: Subscription): void {
    const { connection, requestId, query, auditLog } = subscription
    this.#connections.get(connection)?.delete(requestId)
    const subscriptions = this.#subscriptionsByClass.get(query.className)
    subscriptions?.delete(subscription)
    if (subscriptions?.size === 0) this.#subscriptionsByClass.delete(query.className)
    this.#subscriptionAudits.close(auditLog, this.#lastDelivery)
    this.#leaveFeedIfUnused()
  }

  #leaveFeedIfUnused(): void {
    if (this.#subscriptionsByClass.size > 0) return
    this.#dependencies.feed.unsubscribe(this)
    this.#feedSubscription = undefined
  }

  /** Ends subscriptions of ended sessions, and writes pending audit entries. */
  async #checkSessions(): Promise<void> {
    const subscriptions = [...this.#connections.values()].flatMap((byRequest) => [...byRequest.values()])
    await this.#loadCallers(subscriptions)
    await Promise.all(subscriptions.map(({ auditLog }) => auditLog.flush()))
  }

  /** Loads the subscribers with their current rights, and ends subscriptions without a right to them. */
  async #loadCallers(subscriptions: readonly Subscription[]): Promise<Map<Subscription, Caller>> {
    const sids = [...new Set(subscriptions.map(({ sid }) => sid))]
    const entries = await Promise.all(
      sids.map(async (sid) => [sid, await this.#dependencies.sessions.facts(sid)] as const),
    )
    const facts = new Map(entries)
    const callers = new Map<Subscription, Caller>()
    for (const one of subscriptions) {
      const currentFacts = facts.get(one.sid)
      try {
        if (!currentFacts) throw new Refusal(401, parseErrorCode.invalidSession, SESSION_ENDED_MESSAGE)
        const { roles, helper } = currentFacts
        requireReadableByHelper(helper, one.query.className)
        callers.set(one, { ...one.caller, roles, helper })
      } catch (reason) {
        this.#endSubscription(one, reason as Refusal)
      }
    }
    return callers
  }

  #endSubscription(subscription: Subscription, reason: Refusal): void {
    const { connection, requestId } = subscription
    this.#removeSubscription(subscription)
    connection.sendError(reason, requestId)
    if (this.#connections.get(connection)?.size === 0) connection.close(CLOSE_CODES.policy, reason.message)
  }

  async #deliver(changes: readonly RecordChange[]): Promise<void> {
    const { context, forms } = this.#dependencies
    const classes = new Set(changes.map(({ collection }) => collection))
    const listening = [...classes].flatMap((name) => [...(this.#subscriptionsByClass.get(name) ?? [])])
    const callers = await this.#loadCallers(listening)
    const objects = await toClientObjects(context, forms, changes)
    // Filters once per session, because most changes do not concern most subscribers.
    const readable = new Map<string, RecordChange[]>()
    const matchTime = new MatchTime()
    const telling: Promise<void>[] = []
    for (const [subscription, caller] of callers) {
      const { query, sid } = subscription
      const ofSession = readable.get(sid) ?? changes.filter((one) => isReadable(caller, one))
      readable.set(sid, ofSession)
      const changesOfClass = ofSession.filter(({ collection }) => collection === query.className)
      const handleFault = (fault: unknown): undefined => {
        this.#handleMissedChange(subscription, fault)
      }
      // One after another, so that requests run in between.
      const events = await findEvents(query, caller, changesOfClass, matchTime).catch(handleFault)
      if (events?.length) telling.push(this.#tell(subscription, caller, events, objects).catch(handleFault))
      await giveWay()
    }
    await Promise.all(telling)
  }

  async #tell(
    { query, connection, requestId, auditLog }: Subscription,
    caller: Caller,
    events: readonly ChangeEvent[],
    objects: Map<ParseDocument, object>,
  ): Promise<void> {
    const anonymizedIds =
      query.className === 'Ehr'
        ? await findAnonymizedEhrs(this.#dependencies.context, caller)
        : new Set<string>()
    const visibleEvents = events.filter(
      ({ change }) => !anonymizedIds.has(change.id) || !isQueryOnSubject(query),
    )
    await auditLog.record(
      caller,
      visibleEvents.map(({ change }) => change),
    )
    const formOf = (document: ParseDocument) =>
      selectFields(
        hideOtherUsers(objects.get(document) ?? {}, caller.userId),
        query,
        anonymizedIds.has(document._id),
      )
    for (const { op, object, original } of visibleEvents)
      connection.send({
        op,
        requestId,
        object: formOf(object),
        ...(original && { original: formOf(original) }),
      })
  }

  #handleMissedChange(subscription: Subscription, fault: unknown): void {
    if (isDeadlineError(fault)) {
      this.#endSubscription(
        subscription,
        new Refusal(408, parseErrorCode.timeout, 'The query takes too long on a changed object'),
      )
      return
    }
    // Only the connection that missed a change is closed; it must start again.
    this.#dependencies.onFault(fault)
    subscription.connection.close(CLOSE_CODES.tryAgain)
  }

  #closeAll(reason: number): void {
    for (const connection of this.#connections.keys()) connection.close(reason)
  }
}

/** The events of the changes that concern a query. @throws DeadlineExceeded */
async function findEvents(
  query: LiveQuery,
  caller: Caller,
  changes: readonly RecordChange[],
  matchTime: MatchTime,
): Promise<ChangeEvent[]> {
  const events: ChangeEvent[] = []
  for (const change of changes) {
    const { userId } = authorOf(caller)
    const event = await matchTime.measure(userId, () => toLiveEvent(query, caller, change))
    if (event) events.push({ change, ...event })
  }
  return events
}

const SUBJECT_FIELD = 'subjectId'

/**
 * Whether a query filters by the subject of EHRs. Callers who may not know the subject must not learn it that
 * way.
 */
const isQueryOnSubject = ({ where, watch }: LiveQuery): boolean =>
  JSON.stringify([where, watch]).includes(SUBJECT_FIELD)

const ALWAYS_SENT_FIELDS = ['__type', 'className', 'objectId', 'createdAt', 'updatedAt', 'ACL']

/** Selects the requested fields of an object. */
function selectFields(object: object, { keys }: LiveQuery, isUnnamed: boolean): object {
  const fieldNames = keys && new Set([...ALWAYS_SENT_FIELDS, ...keys.map((key) => key.split('.')[0])])
  const fields = Object.entries(object).filter(
    ([name]) => (!fieldNames || fieldNames.has(name)) && !(isUnnamed && name === SUBJECT_FIELD),
  )
  return Object.fromEntries(fields)
}

const nonEmptyText = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined
