import type { Static } from '@sinclair/typebox'
import type { IndexDescription } from 'mongodb'
import type { ChangeAuthorNames } from '../../schemas/change.ts'
import { DAY_MS } from '../../schemas/time/durations.ts'
import type { Violation } from '../../schemas/validation/violations.ts'
import {
  type Colleague,
  type HandoverBody,
  type HandoverResource,
  handoverRecord,
} from '../../schemas/worklist/handover.ts'
import type { SendMail } from '../accounts/user/mails.ts'
import { lockAccount } from '../accounts/user/user.ts'
import { requireNoViolations } from '../ehr-records/refusals/refusals.ts'
import { findAnonymizedEhrs, findSubjectsOf } from '../ehrs/rights/anonymity.ts'
import type { Persons } from '../profiles/person/persons.ts'
import { ownedRecordId } from '../profiles/storage/owner.ts'
import { PROFILE_COLLECTIONS } from '../profiles/storage/profile-collections.ts'
import { lockProfile } from '../profiles/storage/profile-lock.ts'
import type { Caller } from '../store/documents/caller.ts'
import { documentCollection } from '../store/documents/database.ts'
import type { SavedRecord } from '../store/documents/parse-format.ts'
import { decodeCursor } from '../store/reading/cursor.ts'
import { createPage, type Page, type PageRequest } from '../store/reading/pages.ts'
import { type RecordHistoryEntry, Store } from '../store/store.ts'
import type { ExpectedVersions } from '../store/write-decider.ts'
import { createOrFindExisting } from '../store/writing/create-or-find-existing.ts'
import { runStoreTransaction, type StoreContext, type Transaction } from '../store/writing/transaction.ts'
import { type ColleagueWithEhrs, findColleagues, isListedAfter } from './colleagues.ts'

type StoredHandover = SavedRecord<Static<typeof handoverRecord>>

interface HandoverChange extends Omit<RecordHistoryEntry<object>, 'before'>, ChangeAuthorNames {
  before: HandoverResource | null
}

/** With more EHRs than this, one audit entry covers all of them. */
const MAX_AUDITED_EHRS = 20

/** The collection of handovers; both sides read them and can end them. */
const HANDOVER = {
  collection: PROFILE_COLLECTIONS.handover,
  schema: handoverRecord,
  lists: { newest: { requiredFields: [], sort: 'createdAt', order: 'desc' } },
  indexes: [
    { key: { by: 1, until: 1 } },
    { key: { to: 1, until: 1 } },
    { key: { changesAt: 1 }, sparse: true },
  ],
} as const

/**
 * Worklists that their owners have handed over to a colleague for a period. The colleague gets no rights by it: an alert
 * goes to them only in a care plan that they may write themselves.
 */
export class Handovers {
  readonly #context: StoreContext
  readonly #persons: Persons
  readonly #sendMail: SendMail
  readonly #store

  constructor(context: StoreContext, persons: Persons, sendMail: SendMail) {
    this.#context = context
    this.#persons = persons
    this.#sendMail = sendMail
    this.#store = new Store(context, HANDOVER)
  }

  indexes(): [collection: string, IndexDescription[]][] {
    return [this.#store.indexes()]
  }

  /** Lists the handovers by and to the caller, the latest first. */
  async list(caller: Caller, page: PageRequest): Promise<Page<HandoverResource>> {
    const { items, ...rest } = await this.#store.list(caller, 'newest', { where: {}, ...page })
    return { ...rest, items: await this.#withNames(caller, items) }
  }

  /** @throws NotFound */
  async get(caller: Caller, id: string): Promise<HandoverResource> {
    return this.#withName(caller, await this.#store.get(caller, { id }))
  }

  /** @throws NotFound */
  async history(caller: Caller, id: string, page: PageRequest): Promise<Page<HandoverChange>> {
    const { items, ...rest } = await this.#store.history(caller, { id }, page)
    const users = items.flatMap(({ userId, onBehalfOf, before }) =>
      [userId, onBehalfOf ?? [], before ? partiesOf(before) : []].flat(),
    )
    const names = await this.#namesOf(caller, users)
    const changes = items.map(({ before, changed, ...change }) => ({
      ...change,
      userName: names.get(change.userId) ?? null,
      onBehalfOfName: names.get(change.onBehalfOf ?? '') ?? null,
      changed: changed.filter((name) => name !== 'changesAt'),
      before: before && toResource(before, names),
    }))
    return { ...rest, items: changes }
  }

  /**
   * Lists the users to whom the caller can hand over, those with most of the care plans first.
   * @throws MalformedRequest for a cursor of another list
   */
  async listColleagues(caller: Caller, { limit, cursor, count }: PageRequest): Promise<Page<Colleague>> {
    const after = cursor === undefined ? undefined : decodeCursor(COLLEAGUE_LIST, cursor)
    const colleagues = await findColleagues(this.#context, caller)
    const rest = after ? colleagues.filter((one) => isListedAfter(one, after)) : colleagues
    const positionOf = ({ carePlans, mvUid }: ColleagueWithEhrs) => ({ value: carePlans, id: mvUid })
    const total = count ? colleagues.length : undefined
    const { items, ...page } = createPage(COLLEAGUE_LIST, rest, limit, positionOf, total)
    for (const ehrId of items.flatMap(({ ehrIds }) => ehrIds)) caller.onAccess?.(ehrId)
    const mvUids = items.map(({ mvUid }) => mvUid)
    const names = await this.#namesOf(caller, mvUids, colleagues)
    return {
      ...page,
      items: items.map(({ ehrIds: _, ...one }) => ({ ...one, name: names.get(one.mvUid) ?? null })),
    }
  }

  /** Hands the caller's worklist over. @throws RuleViolated */
  async create(caller: Caller, body: HandoverBody, newId: string): Promise<HandoverResource> {
    const id = ownedRecordId(caller.userId, newId)
    const handover = await createOrFindExisting(
      () => runStoreTransaction(this.#context, (tx) => this.#createIn(tx, caller, body, id)),
      () => this.#store.get(caller, { id }),
    )
    return this.#withName(caller, handover)
  }

  async #createIn(
    tx: Transaction,
    caller: Caller,
    { from = this.#context.clock().toISOString(), ...body }: HandoverBody,
    id: string,
  ): Promise<StoredHandover> {
    const { userId: ownerId } = caller
    await lockProfile(this.#context, tx, ownerId)
    await lockAccount(this.#context, tx, body.to)
    const colleague = (await findColleagues(this.#context, caller)).find(({ mvUid }) => mvUid === body.to)
    requireNoViolations([
      ...timeViolations(from, body.until, this.#context.clock()),
      ...(colleague ? [] : [notColleagueViolation]),
      ...((await this.#overlaps(tx, ownerId, from, body.until)) ? [overlapViolation] : []),
    ])
    const permissions = { read: [ownerId, body.to], write: [ownerId, body.to] }
    const handover = { ...body, by: ownerId, from, changesAt: from }
    const storedHandover = await this.#store.create(caller, handover, permissions, { tx, id })
    await this.#audit(tx, caller, 'create', id, colleague?.ehrIds ?? [])
    await this.#sendMail(
      { to: { mvUid: body.to }, template: 'handover', language: undefined, data: {} },
      tx.session,
    )
    return storedHandover
  }

  /** Ends a handover now; one that has not begun never does. Repeating it changes nothing. @throws NotFound; PreconditionFailed */
  async end(caller: Caller, id: string, expected: ExpectedVersions): Promise<HandoverResource> {
    const handover = await runStoreTransaction(this.#context, async (tx) => {
      const now = this.#context.clock().toISOString()
      const endHandover = ({ until, from, ...rest }: StoredHandover) => {
        const end = from > now ? from : now
        return until <= now || until <= from
          ? { ...rest, from, until }
          : { ...rest, from, until: end, changesAt: now }
      }
      const { record } = await this.#store.updateUnaudited(caller, { id }, endHandover, {
        tx,
        expected,
        skipUnchanged: true,
      })
      const other = partiesOf(record).find((mvUid) => mvUid !== caller.userId)
      const colleague = (await findColleagues(this.#context, caller)).find(({ mvUid }) => mvUid === other)
      await this.#audit(tx, caller, 'update', id, colleague?.ehrIds ?? [])
      return record
    })
    return this.#withName(caller, handover)
  }

  /** Whether the owner has handed over the list for a part of this period already. */
  async #overlaps({ session }: Transaction, ownerId: string, from: string, until: string): Promise<boolean> {
    const during = { by: ownerId, from: { $lt: new Date(until) }, until: { $gt: new Date(from) } }
    const overlappingHandovers = documentCollection(this.#context, HANDOVER.collection).find(during, {
      session,
    })
    return (await overlappingHandovers.toArray()).some((one) => (one.until as Date) > (one.from as Date))
  }

  /** Each EHR in which the colleague stands in has an entry. */
  async #audit(
    tx: Transaction,
    { requestId, userId, application }: Caller,
    action: 'create' | 'update',
    id: string,
    ehrIds: readonly string[],
  ): Promise<void> {
    const scopes = ehrIds.length > MAX_AUDITED_EHRS ? [await this.#context.audit.saveScope(ehrIds)] : ehrIds
    const entry = { requestId, userId, application, action, type: HANDOVER.collection, ids: [id] }
    tx.accesses.push(...scopes.map((ehrId) => ({ ...entry, ehrId, outcome: 'done' as const })))
  }

  /** Finds the names of users, but not of those whom the caller shares only anonymous care plans with. */
  async #namesOf(
    caller: Caller,
    mvUids: readonly string[],
    colleagues?: readonly ColleagueWithEhrs[],
  ): Promise<Map<string, string>> {
    const anonymizedIds = await findAnonymizedEhrs(this.#context, caller)
    const knownColleagues = colleagues ?? (await findColleagues(this.#context, caller))
    const unnamed = knownColleagues.filter(({ ehrIds }) => ehrIds.every((ehrId) => anonymizedIds.has(ehrId)))
    const subjects = await findSubjectsOf(this.#context, anonymizedIds)
    const hiddenIds = new Set([...unnamed.map(({ mvUid }) => mvUid), ...subjects])
    return this.#persons.namesOf(mvUids.filter((mvUid) => !hiddenIds.has(mvUid)))
  }

  async #withName(caller: Caller, handover: StoredHandover): Promise<HandoverResource> {
    return (await this.#withNames(caller, [handover]))[0] as HandoverResource
  }

  async #withNames(caller: Caller, handovers: readonly StoredHandover[]): Promise<HandoverResource[]> {
    const names = await this.#namesOf(caller, handovers.flatMap(partiesOf))
    return handovers.map((one) => toResource(one, names))
  }
}

const partiesOf = ({ by, to }: StoredHandover): string[] => [by, to]

const toResource = (
  { id, by, to, from, until, reason, version }: StoredHandover,
  names: ReadonlyMap<string, string>,
): HandoverResource => ({
  id,
  by,
  byName: names.get(by) ?? null,
  to,
  toName: names.get(to) ?? null,
  from,
  until,
  reason: reason ?? null,
  version,
})

const COLLEAGUE_LIST = 'colleagues'
const MAX_DAYS = 366

function timeViolations(from: string, until: string, now: Date): Violation[] {
  const begin = Date.parse(from)
  const end = Date.parse(until)
  const violation = (code: string, message: string) => ({ path: 'until', code, message })
  return [
    ...(end <= begin ? [violation('order', 'must be later than from')] : []),
    ...(end <= now.getTime() ? [violation('past', 'must be in the future')] : []),
    ...(end - begin > MAX_DAYS * DAY_MS
      ? [violation('long', `must be at most ${MAX_DAYS} days after from`)]
      : []),
  ]
}

const notColleagueViolation: Violation = {
  path: 'to',
  code: 'colleague',
  message: 'must be another user who may write one of the care plans in which you take part',
}
const overlapViolation: Violation = {
  path: 'from',
  code: 'overlap',
  message: 'must not be in a period in which you have handed over your worklist already',
}
