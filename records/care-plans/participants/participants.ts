import type { Static } from '@sinclair/typebox'
import type { ClientSession, IndexDescription, UpdateFilter } from 'mongodb'
import { ServiceError } from '../../../schemas/errors.ts'
import {
  type ParticipationBody,
  type ParticipationReplacement,
  participation,
} from '../../../schemas/participation.ts'
import type { Violation } from '../../../schemas/violation.ts'
import type { SendMail } from '../../accounts/user/mails.ts'
import { stateOf, type User, usersOf } from '../../accounts/user/user.ts'
import { managedPermissions, type PlanRight } from '../../ehrs/rights/access.ts'
import { setPlanRole } from '../../ehrs/rights/roles.ts'
import { type PlanPlace, requireWritablePlan, takeTurn } from '../../registered/into.ts'
import { auditingRefusal, refuseViolations } from '../../registered/refusals/refusals.ts'
import { set, type Writing } from '../../registered/registered.ts'
import { type Caller, isPermitted } from '../../store/documents/caller.ts'
import { documentsOf, together } from '../../store/documents/database.ts'
import type { ParseDocument, Saved } from '../../store/documents/parse-format.ts'
import type { Page, PageOf } from '../../store/reading/listing.ts'
import { Store } from '../../store/store.ts'
import { unlessMade } from '../../store/writing/once.ts'
import { inTransaction, type Records, type Transaction } from '../../store/writing/transaction.ts'
import type { PlanRecords } from '../contents/stores.ts'
import { givesAccess, lasts, nextChange, timesIn, timesOf, timeViolations } from './participation-times.ts'

type StoredFields = Static<typeof participation>
export type StoredParticipation = Saved<StoredFields>

/** A name that no class can have: the class family never reaches it. */
export const Participation = {
  collection: 'plan.participants',
  schema: participation,
  ehr: 'ehrId',
  registeredIn: 'plan',
  words: { en: 'participants', nl: 'deelnemers' },
  lists: { ofPlan: { by: ['carePlanId'], sort: 'createdAt', order: 'asc' } },
  indexes: [{ key: { carePlanId: 1, mvUid: 1 } }, { key: { ehrId: 1 } }, { key: { changesAt: 1 } }],
} as const

/** The access that puts a participant into a role of the plan. */
const GIVEN_BY: Record<PlanRight, readonly unknown[]> = {
  read: ['READ'],
  write: ['WRITE', 'MANAGE'],
  manage: ['MANAGE'],
}

/** Participations that are brought up to date in one go. */
const STEP = 100

interface Key extends PlanPlace {
  id: string
}

/**
 * Who takes part in the care plans. A participation that is active, begun and not ended puts the user into the plan's
 * roles for reading, writing or managing; the memberships are written together with it, and once more when its time comes.
 */
export class Participants {
  readonly #records: Records
  readonly #plans: PlanRecords['plans']
  readonly #sendMail: SendMail
  readonly #store

  constructor(records: Records, plans: PlanRecords['plans'], sendMail: SendMail) {
    this.#records = records
    this.#plans = plans
    this.#sendMail = sendMail
    this.#store = new Store(records, Participation)
  }

  indexes(): [collection: string, IndexDescription[]] {
    return this.#store.indexes()
  }

  /** The oldest first. @throws NotFound when the plan is none of the caller's */
  async list(
    caller: Caller,
    { ehrId, carePlanId }: PlanPlace,
    status: StoredFields['status'] | undefined,
    page: PageOf,
  ): Promise<Page<StoredParticipation>> {
    const where = { ehrId, carePlanId, status }
    const found = await this.#store.list(caller, 'ofPlan', { where, ...page })
    if (found.items.length === 0) await this.#plans.get(caller, { id: carePlanId, ehrId })
    return found
  }

  /** @throws NotFound */
  get(caller: Caller, key: Key): Promise<StoredParticipation> {
    return this.#store.get(caller, key)
  }

  /** @throws NotFound; Forbidden for one who does not manage the plan; RuleViolated */
  create(
    caller: Caller,
    place: PlanPlace,
    body: ParticipationBody,
    id: string,
  ): Promise<StoredParticipation> {
    return unlessMade(
      () =>
        auditingRefusal(this.#records, caller, Participation.collection, place.ehrId, () =>
          inTransaction(this.#records, (tx) => this.createIn(tx, caller, place, body, id)),
        ),
      () => this.#store.get(caller, { id, ...place }),
    )
  }

  /** The same as a part of a transaction. So is the mail that tells the participant. */
  async createIn(
    tx: Transaction,
    caller: Caller,
    place: PlanPlace,
    body: ParticipationBody,
    id: string,
  ): Promise<StoredParticipation> {
    const ofPlan = await requireWritablePlan(this.#records, tx, caller, place)
    const permissions = managedPermissions(ofPlan, place.carePlanId)
    if (!isPermitted(permissions.write, caller)) throw new ServiceError('Forbidden')
    await takeTurn(this.#records, tx, place.ehrId)
    const start = this.#records.clock().toISOString()
    const wanted = { start, ...set(body), ...place, status: 'ACTIVE' as const }
    const user = await this.#checked(tx, wanted, id)
    const input = this.#withNextChange(wanted)
    const created = await this.#store.create(caller, input, permissions, { tx, id })
    await this.#giveRoles(tx.session, created)
    const { email: to, language } = user
    await this.#sendMail({ to, template: 'participation', language, data: {} }, tx.session)
    return created
  }

  /** Several of them, as a new care plan lists them. @throws RuleViolated naming all that is wrong with any of them */
  async createAllIn(
    tx: Transaction,
    caller: Caller,
    place: PlanPlace,
    wanted: readonly { body: ParticipationBody; id: string }[],
  ): Promise<void> {
    const violations: Violation[] = []
    for (const [i, { body, id }] of wanted.entries()) {
      try {
        await this.createIn(tx, caller, place, body, id)
      } catch (error) {
        if (!(error instanceof ServiceError && error.error === 'RuleViolated')) throw error
        violations.push(...error.violations.map((one) => ({ ...one, path: `participants.${i}.${one.path}` })))
      }
    }
    refuseViolations(violations)
  }

  /** @throws NotFound; Forbidden; PreconditionFailed; RuleViolated, also for one that is archived */
  replace(
    caller: Caller,
    key: Key,
    { mvUid: sent, ...body }: Omit<ParticipationReplacement, 'participationId'>,
    options: Writing,
  ): Promise<StoredParticipation> {
    return this.#update(caller, key, options, (now, takesPartToo) => {
      const { ehrId, carePlanId, mvUid, start, status } = now
      const next = { ehrId, carePlanId, mvUid, start, status, ...set(body) }
      refuseViolations([
        ...(status === 'ARCHIVED' ? [archived] : []),
        ...(sent !== undefined && sent !== mvUid ? [anotherUser] : []),
        ...(takesPartToo && lasts(timesIn(next), this.#records.clock()) ? [takesPart] : []),
        ...timeViolations(next),
      ])
      return next
    })
  }

  /** Takes the access and keeps the participation. @throws NotFound; Forbidden; PreconditionFailed */
  async archive(caller: Caller, key: Key, options: Writing): Promise<void> {
    await this.#update(caller, key, options, (now) => ({ ...now, status: 'ARCHIVED' }))
  }

  #update(
    caller: Caller,
    key: Key,
    { expected }: Writing,
    change: (now: StoredParticipation, takesPartToo: boolean) => StoredFields,
  ): Promise<StoredParticipation> {
    return inTransaction(this.#records, async (tx) => {
      const known = await documentsOf(this.#records, Participation.collection).findOne(
        { _id: key.id },
        { session: tx.session },
      )
      const of = { carePlanId: key.carePlanId, mvUid: String(known?.mvUid) }
      const takesPartToo = await this.#takesPart(tx, { ...of, otherwiseThan: key.id })
      const next = (now: StoredParticipation) => this.#withNextChange(change(now, takesPartToo))
      const updated = await this.#store.update(caller, key, next, { tx, expected })
      await takeTurn(this.#records, tx, key.ehrId)
      await this.#giveRoles(tx.session, updated)
      return updated
    })
  }

  /** Archives what a user takes part in whose account goes; the roles go with it. */
  async leave(session: ClientSession, mvUid: string): Promise<void> {
    const change = {
      $set: { status: 'ARCHIVED', _updated_at: this.#records.clock() },
      $inc: { version: 1 },
      $unset: { changesAt: '' as const },
    }
    const documents = this.#records.db.collection(Participation.collection)
    await documents.updateMany({ mvUid, status: 'ACTIVE' }, change, { session })
  }

  /** Lets those participations count whose time has come since the last call. */
  async changeAccess(): Promise<void> {
    const documents = documentsOf(this.#records, Participation.collection)
    const due = { changesAt: { $lte: this.#records.clock() } }
    for (const { _id, ehrId, carePlanId, mvUid } of await documents.find(due).limit(STEP).toArray()) {
      const of = { ehrId: String(ehrId), carePlanId: String(carePlanId), mvUid: String(mvUid) }
      await together(this.#records, async (session) => {
        const found = await documents.findOne({ _id, ...due }, { session })
        if (!found) return
        const next = nextChange(timesOf(found), this.#records.clock())
        const change: UpdateFilter<ParseDocument> = next
          ? { $set: { changesAt: next } }
          : { $unset: { changesAt: '' } }
        await documents.updateOne({ _id }, change, { session })
        await this.#giveRoles(session, of)
      })
    }
  }

  /** What the schema cannot say about a new participation. @returns the participant's account */
  async #checked(tx: Transaction, wanted: StoredFields, id: string): Promise<User> {
    const { ehrId, carePlanId, mvUid } = wanted
    const { session } = tx
    const ehr = await documentsOf(this.#records, 'Ehr').findOne({ _id: ehrId }, { session })
    const user = await usersOf(this.#records.db).findOne({ _id: mvUid }, { session })
    const isUser = user !== null && stateOf(user) !== 'DISABLED'
    const violations = [
      ...(ehr?.pending === true ? [notAgreed] : []),
      ...(ehr?.subjectId === mvUid ? [isSubject] : isUser ? [] : [noUser]),
      ...((await this.#takesPart(tx, { carePlanId, mvUid, otherwiseThan: id })) ? [takesPart] : []),
      ...timeViolations(wanted),
    ]
    if (!user || violations.length > 0) throw new ServiceError('RuleViolated', { violations })
    return user
  }

  /** Whether a user takes part in a plan or will, by another participation than that one. */
  async #takesPart(
    { session }: Transaction,
    { carePlanId, mvUid, otherwiseThan }: { carePlanId: string; mvUid: string; otherwiseThan: string },
  ): Promise<boolean> {
    const others = { carePlanId, mvUid, _id: { $ne: otherwiseThan } }
    const found = await documentsOf(this.#records, Participation.collection)
      .find(others, { session })
      .toArray()
    return found.some((one) => lasts(timesOf(one), this.#records.clock()))
  }

  #withNextChange({ changesAt: _, ...now }: StoredFields): StoredFields {
    const changesAt = nextChange(timesIn(now), this.#records.clock())?.toISOString()
    return set({ ...now, changesAt }) as StoredFields
  }

  /** Puts a user into exactly those roles of a plan that all of their participations give at this moment. */
  async #giveRoles(
    session: ClientSession,
    { ehrId, carePlanId, mvUid }: Pick<StoredFields, 'ehrId' | 'carePlanId' | 'mvUid'>,
  ): Promise<void> {
    const all = await documentsOf(this.#records, Participation.collection)
      .find({ carePlanId, mvUid }, { session })
      .toArray()
    const now = this.#records.clock()
    const given = all.filter((one) => givesAccess(timesOf(one), now)).map(({ access }) => access)
    for (const right of ['read', 'write', 'manage'] as const) {
      const held = given.some((access) => GIVEN_BY[right].includes(access))
      await setPlanRole(this.#records, session, mvUid, { ehrId, carePlanId, right }, held)
    }
  }
}

const isSubject: Violation = {
  path: 'mvUid',
  code: 'subject',
  message: 'is the subject of the EHR, who always takes part in its care plans',
}
const notAgreed: Violation = {
  path: 'mvUid',
  code: 'pending',
  message: 'cannot take part before the subject of the EHR has accepted it',
}
const noUser: Violation = { path: 'mvUid', code: 'user', message: 'must be a user of this service' }
const anotherUser: Violation = { path: 'mvUid', code: 'fixed', message: 'may not be changed' }
const takesPart: Violation = { path: 'mvUid', code: 'twice', message: 'already takes part in this care plan' }
const archived: Violation = {
  path: 'status',
  code: 'archived',
  message: 'cannot be changed: it is archived; add the participant again',
}
