import { randomUUID } from 'node:crypto'
import type { Sessions } from '../../records/accounts/login/sessions.ts'
import { unnamedFor } from '../../records/ehrs/rights/anonymity.ts'
import type { Spend } from '../../records/limits/rate-limits.ts'
import type { ChangedRecord, Happening } from '../../records/live/happenings.ts'
import { type Noted, Notes } from '../../records/live/noted.ts'
import type { Follower, Tail } from '../../records/live/tail.ts'
import { type Loop, periodically } from '../../records/store/batching/periodically.ts'
import type { Caller } from '../../records/store/documents/caller.ts'
import type { ParseDocument } from '../../records/store/documents/parse-format.ts'
import type { Records } from '../../records/store/writing/transaction.ts'
import { checkNames } from '../gate/audit/records-request.ts'
import { searchedBy } from '../gate/audit/unanswered.ts'
import { code, Refusal } from '../gate/request/parse-request.ts'
import type { ParseForms } from '../parse-server/internals.ts'
import { identityOf } from '../request/caller.ts'
import { type Answering, CLOSE, type Connection } from './connection.ts'
import { eventFor, isOfInterest, type LiveQuery, readLiveQuery } from './subscription.ts'

export interface LiveQueryParts {
  records: Records
  tail: Tail
  sessions: Pick<Sessions, 'facts' | 'ofToken'>
  spend: Spend
  forms: ParseForms
  applicationId: string
  /** Those of the SDKs. */
  clientKeys: readonly string[]
  onFault: (fault: unknown) => void
}

interface Subscription {
  connection: Connection
  requestId: number
  query: LiveQuery
  sid: string
  caller: Caller
  noted: Noted
}

const MOST_SUBSCRIPTIONS = 100
/** Connections of one account on one instance. */
const MOST_OF_ONE = 20
const LOOK_MS = 1000
const SESSION_ENDED = 'Invalid session token'
/** What may wait to be told, of all changes. */
const MOST_UNTOLD = 50_000

/** Parse's live queries, told from the log of changes: of both families' writes, on whichever instance. */
export class LiveQueries implements Follower, Answering {
  readonly #parts: LiveQueryParts
  readonly #notes: Notes
  readonly #connections = new Map<Connection, Map<number, Subscription>>()
  readonly #byClass = new Map<string, Set<Subscription>>()
  readonly #loop: Loop
  #following: Promise<unknown> | undefined
  #told: Promise<void> = Promise.resolve()
  #untold = 0

  constructor(parts: LiveQueryParts) {
    this.#parts = parts
    this.#notes = new Notes(parts.records.audit, parts.onFault)
    this.#loop = periodically(LOOK_MS, () => this.#look(), parts.onFault)
  }

  async connect(connection: Connection, message: Record<string, unknown>): Promise<void> {
    const { applicationId, clientKeys } = this.#parts
    const given = ['javascriptKey', 'clientKey', 'restAPIKey', 'windowsKey'].map((name) => message[name])
    if (message.applicationId !== applicationId || !given.some((key) => clientKeys.includes(key as string)))
      throw new Refusal(403, code.forbidden, 'unauthorized')
    connection.installationId = textOf(message.installationId)
    connection.sessionToken = textOf(message.sessionToken)
    if (connection.sessionToken !== undefined) await this.#sessionOf(connection, connection.sessionToken)
    if (!this.#connections.has(connection)) this.#connections.set(connection, new Map())
  }

  async subscribe(
    connection: Connection,
    requestId: number,
    message: Record<string, unknown>,
  ): Promise<void> {
    const { records, spend, forms } = this.#parts
    const session = await this.#sessionOf(connection, textOf(message.sessionToken) ?? connection.sessionToken)
    await spend('account', session.mvUid)
    const own = this.#connections.get(connection)
    if (!own || own.size >= MOST_SUBSCRIPTIONS)
      throw new Refusal(400, code.forbidden, `A connection has at most ${MOST_SUBSCRIPTIONS} subscriptions`)
    const query = await readLiveQuery((message.query ?? {}) as Record<string, unknown>, forms)
    const { className, where } = query
    checkNames([{ className, where, id: undefined, action: 'query', distinct: false, subqueries: [] }])
    const caller = { ...identityOf(false, session.mvUid, randomUUID()), roles: session.roles }
    const asking = { records, caller, roles: async () => [...session.roles] }
    await records.audit.record(...(await searchedBy(asking, { className, where }, new Set())))
    const { sid } = session
    await this.#add({ connection, requestId, query, sid, caller, noted: this.#notes.begin() })
    connection.send({ op: 'subscribed', requestId })
  }

  unsubscribe(connection: Connection, requestId: number): void {
    const subscription = this.#connections.get(connection)?.get(requestId)
    if (subscription) this.#remove(subscription)
  }

  failed(fault: unknown): void {
    this.#parts.onFault(fault)
  }

  closed(connection: Connection): void {
    for (const subscription of this.#connections.get(connection)?.values() ?? []) this.#remove(subscription)
    this.#connections.delete(connection)
  }

  concerns({ collection }: ChangedRecord): boolean {
    return this.#byClass.has(collection)
  }

  tell(happenings: readonly Happening[]): void {
    if (happenings.length === 0) return
    this.#untold += happenings.length
    if (this.#untold > MOST_UNTOLD) this.#closeAll(CLOSE.tryAgain)
    this.#told = this.#told
      .then(() => this.#tell(happenings))
      .catch((fault) => {
        // Nobody may believe to have heard all.
        this.#parts.onFault(fault)
        this.#closeAll(CLOSE.tryAgain)
      })
      .finally(() => {
        this.#untold -= happenings.length
      })
  }

  /** When all connections have been closed. */
  async end(): Promise<void> {
    await this.#loop.end()
    await this.#notes.kept()
  }

  /** @throws Refusal when it has ended */
  async #sessionOf(connection: Connection, token: string | undefined) {
    const session = token === undefined ? undefined : await this.#parts.sessions.ofToken(token)
    const facts = session && (await this.#parts.sessions.facts(session.sid))
    if (!session || !facts) throw new Refusal(401, code.invalidSession, SESSION_ENDED)
    const { mvUid } = facts
    const others = [...this.#connections.keys()].filter((one) => one !== connection && one.mvUid === mvUid)
    if (others.length >= MOST_OF_ONE)
      throw new Refusal(429, code.tooManyRequests, `An account has at most ${MOST_OF_ONE} connections`)
    connection.known(mvUid)
    return { ...facts, sid: session.sid }
  }

  /** When it resolves, everything is heard from then on. */
  async #add(subscription: Subscription): Promise<void> {
    const { connection, requestId, query } = subscription
    const own = this.#connections.get(connection)
    if (!own) return
    own.set(requestId, subscription)
    this.#byClass.set(query.className, (this.#byClass.get(query.className) ?? new Set()).add(subscription))
    this.#following ??= this.#parts.tail.follow(this)
    try {
      await this.#following
    } catch (error) {
      this.#following = undefined
      this.#remove(subscription)
      throw error
    }
    this.#leaveIfAlone()
  }

  #remove(subscription: Subscription): void {
    const { connection, requestId, query, noted } = subscription
    this.#connections.get(connection)?.delete(requestId)
    const others = this.#byClass.get(query.className)
    others?.delete(subscription)
    if (others?.size === 0) this.#byClass.delete(query.className)
    this.#notes.end(noted, this.#told)
    this.#leaveIfAlone()
  }

  #leaveIfAlone(): void {
    if (this.#byClass.size > 0) return
    this.#parts.tail.leave(this)
    this.#following = undefined
  }

  /** Ends the subscriptions whose sessions have ended, and what the audit still has to hear. */
  async #look(): Promise<void> {
    const all = [...this.#connections.values()].flatMap((own) => [...own.values()])
    await this.#callersOf(all)
    await Promise.all(all.map(({ noted }) => noted.close()))
  }

  /** Who listens, with the roles that they hold now; those whose session has ended hear nothing any more. */
  async #callersOf(subscriptions: readonly Subscription[]): Promise<Map<Subscription, Caller>> {
    const sids = [...new Set(subscriptions.map(({ sid }) => sid))]
    const known = await Promise.all(
      sids.map(async (sid) => [sid, await this.#parts.sessions.facts(sid)] as const),
    )
    const facts = new Map(known)
    const callers = new Map<Subscription, Caller>()
    for (const one of subscriptions) {
      const roles = facts.get(one.sid)?.roles
      if (roles) callers.set(one, { ...one.caller, roles })
      else this.#endOf(one)
    }
    return callers
  }

  #endOf(subscription: Subscription): void {
    const { connection, requestId } = subscription
    this.#remove(subscription)
    connection.refuse(new Refusal(401, code.invalidSession, SESSION_ENDED), requestId)
    if (this.#connections.get(connection)?.size === 0) connection.close(CLOSE.policy, SESSION_ENDED)
  }

  async #tell(happenings: readonly Happening[]): Promise<void> {
    const classes = new Set(happenings.map(({ collection }) => collection))
    const listening = [...classes].flatMap((name) => [...(this.#byClass.get(name) ?? [])])
    const callers = await this.#callersOf(listening)
    const objects = await objectsOf(this.#parts.forms, happenings)
    // Most have nothing to do with most of those who listen.
    const readable = new Map<string, Happening[]>()
    const tell = async (subscription: Subscription, caller: Caller) => {
      const { query, connection, requestId, noted, sid } = subscription
      const ofSession = readable.get(sid) ?? happenings.filter((one) => isOfInterest(caller, one))
      readable.set(sid, ofSession)
      const own = ofSession.filter(({ collection }) => collection === query.className)
      const events = own.flatMap((happening) => {
        const event = eventFor(query, caller, happening)
        return event ? [{ happening, ...event }] : []
      })
      if (events.length === 0) return
      const unnamed =
        query.className === 'Ehr' ? await unnamedFor(this.#parts.records, caller) : new Set<string>()
      const named = events.filter(({ happening }) => !unnamed.has(happening.id) || !asksForSubject(query))
      await noted.note(
        caller,
        named.map(({ happening }) => happening),
      )
      const formOf = (document: ParseDocument) =>
        partOf(objects.get(document) ?? {}, query, unnamed.has(document._id))
      for (const { op, object, original } of named)
        connection.send({
          ...{ op, requestId, object: formOf(object) },
          ...(original && { original: formOf(original) }),
        })
    }
    const telling = [...callers].map(([subscription, caller]) =>
      tell(subscription, caller).catch((fault) => {
        // Whoever has not heard all begins anew, and no others for their sake.
        this.#parts.onFault(fault)
        subscription.connection.close(CLOSE.tryAgain)
      }),
    )
    await Promise.all(telling)
  }

  #closeAll(reason: number): void {
    for (const connection of [...this.#connections.keys()]) connection.close(reason)
  }
}

const SUBJECT = 'subjectId'

/** Who may not know whom an EHR is about does not learn it by asking either. */
const asksForSubject = ({ where, watch }: LiveQuery): boolean =>
  JSON.stringify([where, watch]).includes(SUBJECT)

const ALWAYS = ['__type', 'className', 'objectId', 'createdAt', 'updatedAt', 'ACL']

/** What of an object is sent to one who asked for some of its fields. */
function partOf(object: object, { keys }: LiveQuery, isUnnamed: boolean): object {
  const wanted = keys && new Set([...ALWAYS, ...keys.map((key) => key.split('.')[0])])
  const fields = Object.entries(object).filter(
    ([name]) => (!wanted || wanted.has(name)) && !(isUnnamed && name === SUBJECT),
  )
  return Object.fromEntries(fields)
}

/** The documents in the form in which the class family shows them. */
async function objectsOf(
  forms: ParseForms,
  happenings: readonly Happening[],
): Promise<Map<ParseDocument, object>> {
  const objects = new Map<ParseDocument, object>()
  for (const { collection, before, after } of happenings)
    for (const document of [before, after])
      if (document) objects.set(document, await forms.objectOf(collection, document))
  return objects
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined
