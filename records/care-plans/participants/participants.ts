import type { Static } from '@sinclair/typebox'
import type { ClientSession, IndexDescription, UpdateFilter } from 'mongodb'
import {
  type ParticipationBody,
  type ParticipationReplacement,
  participationRecord,
} from '../../../schemas/care-plans/participation.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import type { Violation } from '../../../schemas/validation/violations.ts'
import type { SendMail } from '../../accounts/user/mails.ts'
import { accountStateOf, lockAccount, type User, usersOf } from '../../accounts/user/user.ts'
import type { EhrWriteOptions } from '../../ehr-records/ehr-records.ts'
import { lockEhrExclusively } from '../../ehr-records/parents/exclusive-ehr-lock.ts'
import { type PlanParentIds, requireWritablePlan } from '../../ehr-records/parents/parents.ts'
import { auditRefusedCreation, requireNoViolations } from '../../ehr-records/refusals/refusals.ts'
import { withoutNulls } from '../../ehr-records/validation/record-bodies.ts'
import { ehrRole, type PlanRight, participationPermissions } from '../../ehrs/rights/access.ts'
import { reviewAlertsOfPlan } from '../../ehrs/rights/alert-owners.ts'
import { findAnonymizedEhrs } from '../../ehrs/rights/anonymity.ts'
import { setPlanRole, setRole } from '../../ehrs/rights/roles.ts'
import type { FindParticipants, RecordChange } from '../../history/changes.ts'
import { iterateIdBatches } from '../../store/batching/transaction-batches.ts'
import { type Caller, isPermitted } from '../../store/documents/caller.ts'
import { documentCollection, runTransaction } from '../../store/documents/database.ts'
import { type Job, jobRequesterOf } from '../../store/documents/job.ts'
import {
  fromStoredPermissions,
  type ParseDocument,
  type SavedRecord,
} from '../../store/documents/parse-format.ts'
import type { JobSteps } from '../../store/jobs/background-jobs.ts'
import { DueRecords, runPages } from '../../store/jobs/due-records.ts'
import type { Page, PageRequest } from '../../store/reading/pages.ts'
import { Store } from '../../store/store.ts'
import type { UpdateConditions } from '../../store/write-decider.ts'
import { createOrFindExisting } from '../../store/writing/create-or-find-existing.ts'
import { runStoreTransaction, type StoreContext, type Transaction } from '../../store/writing/transaction.ts'
import {
  isActiveOrUpcoming,
  isInEffect,
  nextAccessChange,
  participationTimeViolations,
  timesFromApi,
  timesFromStored,
} from './participation-times.ts'

type StoredFields = Static<typeof participationRecord>
export type StoredParticipation = SavedRecord<StoredFields>

/** Contains a dot, so no class can have this name and the class family never reaches the collection. */
export const Participation = {
  collection: 'plan.participants',
  schema: participationRecord,
  ehr: 'ehrId',
  parentType: 'plan',
  words: { en: 'participants', nl: 'deelnemers' },
  fhir: { shownAs: 'CareTeam' },
  lists: { ofPlan: { requiredFields: ['carePlanId'], sort: 'createdAt', order: 'asc' } },
  indexes: [
    { key: { carePlanId: 1, mvUid: 1 } },
    { key: { mvUid: 1 } },
    { key: { ehrId: 1 } },
    { key: { changesAt: 1 } },
  ],
} as const

/** The values of access that put a participant into the plan's role for each right. */
const ACCESS_OF_RIGHT: Record<PlanRight, readonly unknown[]> = {
  read: ['READ'],
  write: ['WRITE', 'MANAGE'],
  manage: ['MANAGE'],
}

interface ParticipationKey extends PlanParentIds {
  id: string
}

/**
 * The participants of care plans. An active participation that has begun and not ended puts the user into the
 * plan's roles for reading, writing or managing. The memberships are written together with the participation,
 * and again when its access begins or ends.
 */
export class Participants {
  readonly #context: StoreContext
  readonly #sendMail: SendMail
  readonly #store
  readonly #dueChanges: DueRecords

  constructor(context: StoreContext, sendMail: SendMail) {
    this.#context = context
    this.#sendMail = sendMail
    this.#store = new Store(context, Participation)
    this.#dueChanges = new DueRecords(context, Participation.collection, 'changesAt')
  }

  indexes(): [collection: string, IndexDescription[]] {
    return this.#store.indexes()
  }

  /** Lists the participations, oldest first. @throws NotFound when the caller may not see the plan */
  list(
    caller: Caller,
    { ehrId, carePlanId }: PlanParentIds,
    status: StoredFields['status'] | undefined,
    page: PageRequest,
  ): Promise<Page<StoredParticipation>> {
    const where = { ehrId, carePlanId, status }
    return this.#store.list(caller, 'ofPlan', { where, ...page })
  }

  /** @throws NotFound */
  get(caller: Caller, key: ParticipationKey): Promise<StoredParticipation> {
    return this.#store.get(caller, key)
  }

  /** Whether the caller may know who the participants are: those who manage a plan may, unless it is anonymous. */
  async mayLearnNames(caller: Caller, { ehrId, carePlanId }: PlanParentIds): Promise<boolean> {
    if (caller.helper) return false
    const plans = documentCollection(this.#context, 'CarePlan')
    const plan = await plans.findOne({ _id: carePlanId, ehrId, anonymous: { $ne: true } })
    const permissions = plan && participationPermissions(fromStoredPermissions(plan), carePlanId)
    return permissions !== null && isPermitted(permissions.write, caller)
  }

  /** @throws NotFound; Forbidden if the caller does not manage the plan; RuleViolated */
  create(
    caller: Caller,
    parentIds: PlanParentIds,
    body: ParticipationBody,
    id: string,
  ): Promise<StoredParticipation> {
    return createOrFindExisting(
      () =>
        auditRefusedCreation(this.#context, caller, Participation.collection, parentIds.ehrId, () =>
          runStoreTransaction(this.#context, (tx) => this.createIn(tx, caller, parentIds, body, id)),
        ),
      () => this.#store.get(caller, { id, ...parentIds }),
    )
  }

  /** Creates a participation within a transaction, which also queues the mail to the participant. */
  async createIn(
    tx: Transaction,
    caller: Caller,
    parentIds: PlanParentIds,
    body: ParticipationBody,
    id: string,
  ): Promise<StoredParticipation> {
    const ofPlan = await requireWritablePlan(this.#context, tx, caller, parentIds)
    const permissions = participationPermissions(ofPlan, parentIds.carePlanId)
    if (!isPermitted(permissions.write, caller)) throw new ServiceError('Forbidden')
    await lockEhrExclusively(this.#context, tx, parentIds.ehrId)
    await lockAccount(this.#context, tx, body.mvUid)
    const start = this.#context.clock().toISOString()
    const participation = { start, ...withoutNulls(body), ...parentIds, status: 'ACTIVE' as const }
    const { user, isSubject } = await this.#requireValidNew(tx, caller, participation, id)
    // The subject takes part without losing a right: this role has all of theirs.
    if (isSubject)
      await setRole(this.#context, tx.session, body.mvUid, ehrRole(parentIds.ehrId, 'write'), true)
    const input = this.#withNextChange(participation)
    const storedParticipation = await this.#store.create(caller, input, permissions, { tx, id })
    await this.#syncRoles(tx.session, storedParticipation)
    const { email: to, language } = user
    await this.#sendMail({ to, template: 'participation', language, data: {} }, tx.session)
    return storedParticipation
  }

  /**
   * Creates the participants that come with a new care plan.
   * @throws RuleViolated with the violations of all of them
   */
  async createAllIn(
    tx: Transaction,
    caller: Caller,
    parentIds: PlanParentIds,
    participations: readonly { body: ParticipationBody; id: string }[],
  ): Promise<void> {
    const violations: Violation[] = []
    for (const [i, { body, id }] of participations.entries()) {
      try {
        await this.createIn(tx, caller, parentIds, body, id)
      } catch (error) {
        if (!(error instanceof ServiceError && error.error === 'RuleViolated')) throw error
        violations.push(...error.violations.map((one) => ({ ...one, path: `participants.${i}.${one.path}` })))
      }
    }
    requireNoViolations(violations)
  }

  /** @throws NotFound; Forbidden; PreconditionFailed; RuleViolated, also when it is archived */
  replace(
    caller: Caller,
    key: ParticipationKey,
    { mvUid: sentMvUid, ...body }: Omit<ParticipationReplacement, 'participationId'>,
    { expected }: EhrWriteOptions,
  ): Promise<StoredParticipation> {
    return this.#update(caller, key, { expected }, (current, takesPartToo) => {
      const { ehrId, carePlanId, mvUid, start, status } = current
      const next = { ehrId, carePlanId, mvUid, start, status, ...withoutNulls(body) }
      requireNoViolations([
        ...(status === 'ARCHIVED' ? [archivedViolation] : []),
        ...(sentMvUid !== undefined && sentMvUid !== mvUid ? [anotherUserViolation] : []),
        ...(takesPartToo && isActiveOrUpcoming(timesFromApi(next), this.#context.clock())
          ? [alreadyParticipatingViolation]
          : []),
        ...participationTimeViolations(next),
      ])
      return next
    })
  }

  /**
   * Ends the access, but keeps the participation. Repeating it changes nothing.
   * @throws NotFound; Forbidden; PreconditionFailed
   */
  async archive(caller: Caller, key: ParticipationKey, { expected }: EhrWriteOptions): Promise<void> {
    const conditions = { expected, skipUnchanged: true }
    await this.#update(caller, key, conditions, (current) => ({ ...current, status: 'ARCHIVED' }))
  }

  #update(
    caller: Caller,
    key: ParticipationKey,
    conditions: UpdateConditions,
    change: (current: StoredParticipation, takesPartToo: boolean) => StoredFields,
  ): Promise<StoredParticipation> {
    return runStoreTransaction(this.#context, async (tx) => {
      const participation = await documentCollection(this.#context, Participation.collection).findOne(
        { _id: key.id },
        { session: tx.session },
      )
      const participantKey = { carePlanId: key.carePlanId, mvUid: String(participation?.mvUid) }
      const takesPartToo = await this.#isParticipating(tx, { ...participantKey, otherwiseThan: key.id })
      const next = (current: StoredParticipation) => this.#withNextChange(change(current, takesPartToo))
      const storedParticipation = await this.#store.update(caller, key, next, { ...conditions, tx })
      await lockEhrExclusively(this.#context, tx, key.ehrId)
      await this.#syncRoles(tx.session, storedParticipation)
      return storedParticipation
    })
  }

  /** Archives all participations of a user whose account is deleted; the deletion removes the roles. */
  async archiveOfUser({ id: mvUid, by }: Job, { unfilteredDb: db, runStep }: JobSteps): Promise<void> {
    const caller = { ...jobRequesterOf({ by }), roles: [], unrestricted: true } as const
    const archive = (current: StoredParticipation) => this.#withNextChange({ ...current, status: 'ARCHIVED' })
    const documents = documentCollection({ db }, Participation.collection)
    for await (const ids of iterateIdBatches(documents, { mvUid, status: 'ACTIVE' }))
      await runStep(async (tx) => {
        const still = { _id: { $in: ids }, status: 'ACTIVE' }
        const active = await documents.find(still, { session: tx.session, projection: { _id: 1 } }).toArray()
        const activeIds = active.map(({ _id }) => _id)
        await this.#store.updateAll(caller, activeIds, archive, tx)
      })
  }

  /**
   * Updates the roles of participations that have begun or ended since the last call.
   * @throws AggregateError with the errors of those that failed, after all others
   */
  applyDueAccessChanges(ending?: AbortSignal): Promise<void> {
    const documents = documentCollection(this.#context, Participation.collection)
    const apply = async (session: ClientSession, _id: string, now: Date) => {
      const participation = await documents.findOne({ _id, changesAt: { $lte: now } }, { session })
      if (!participation) return
      const next = nextAccessChange(timesFromStored(participation), now)
      const change: UpdateFilter<ParseDocument> = next
        ? { $set: { changesAt: next } }
        : { $unset: { changesAt: '' } }
      await documents.updateOne({ _id }, change, { session })
      const { ehrId, carePlanId, mvUid } = participation
      const participantKey = { ehrId: String(ehrId), carePlanId: String(carePlanId), mvUid: String(mvUid) }
      await this.#syncRoles(session, participantKey)
    }
    const runPage = () => {
      const now = this.#context.clock()
      return this.#dueChanges.runPage(now, (id) =>
        runTransaction(this.#context, (session) => apply(session, id, now)),
      )
    }
    return runPages(runPage, 'The access of some participants could not be updated.', ending)
  }

  /**
   * Checks a new participation against the rules that the schema cannot express. A caller who may not know the subject
   * gets the same answer about them as about others.
   * @returns the participant's account
   */
  async #requireValidNew(
    tx: Transaction,
    caller: Caller,
    participation: StoredFields,
    id: string,
  ): Promise<{ user: User; isSubject: boolean }> {
    const { ehrId, carePlanId, mvUid } = participation
    const { session } = tx
    const ehr = await documentCollection(this.#context, 'Ehr').findOne({ _id: ehrId }, { session })
    const user = await usersOf(this.#context.db).findOne({ _id: mvUid }, { session })
    const isUser = user !== null && accountStateOf(user) !== 'DISABLED'
    const isSubject = ehr?.subjectId === mvUid
    const isRefused = isSubject && !(await findAnonymizedEhrs(this.#context, caller)).has(ehrId)
    const violations = [
      ...(ehr?.pending === true ? [notAcceptedViolation] : []),
      ...(isRefused ? [isSubjectViolation] : isUser ? [] : [noUserViolation]),
      ...((await this.#isParticipating(tx, { carePlanId, mvUid, otherwiseThan: id }))
        ? [alreadyParticipatingViolation]
        : []),
      ...participationTimeViolations(participation),
    ]
    if (!user || violations.length > 0) throw new ServiceError('RuleViolated', { violations })
    return { user, isSubject }
  }

  /** Whether the user has another active or upcoming participation in the plan. */
  async #isParticipating(
    { session }: Transaction,
    { carePlanId, mvUid, otherwiseThan }: { carePlanId: string; mvUid: string; otherwiseThan: string },
  ): Promise<boolean> {
    const otherParticipations = { carePlanId, mvUid, _id: { $ne: otherwiseThan } }
    const matches = await documentCollection(this.#context, Participation.collection)
      .find(otherParticipations, { session })
      .toArray()
    return matches.some((one) => isActiveOrUpcoming(timesFromStored(one), this.#context.clock()))
  }

  #withNextChange({ changesAt: _, ...now }: StoredFields): StoredFields {
    const changesAt = nextAccessChange(timesFromApi(now), this.#context.clock())?.toISOString()
    return withoutNulls({ ...now, changesAt }) as StoredFields
  }

  /** Gives the participants of a plan that returns their roles again. */
  async restoreRoles(
    tx: Transaction,
    { ehrId, id: carePlanId }: { ehrId: string; id: string },
  ): Promise<void> {
    const participations = documentCollection(
      { db: this.#context.jobs.unfilteredDb },
      Participation.collection,
    )
    // In a transaction, MongoDB has no distinct on a sharded collection.
    const planParticipations = await participations
      .find({ carePlanId }, { session: tx.session, projection: { mvUid: 1 } })
      .toArray()
    for (const mvUid of new Set(planParticipations.map((one) => String(one.mvUid))))
      await this.#syncRoles(tx.session, { ehrId, carePlanId, mvUid })
    await reviewAlertsOfPlan(this.#context, tx.session, carePlanId)
  }

  /** Gives the user exactly those roles of a plan that their participations grant now; a deleted plan, none. */
  async #syncRoles(
    session: ClientSession,
    { ehrId, carePlanId, mvUid }: Pick<StoredFields, 'ehrId' | 'carePlanId' | 'mvUid'>,
  ): Promise<void> {
    const plan = await documentCollection(this.#context, 'CarePlan').findOne(
      { _id: carePlanId },
      { session, projection: { _id: 1 } },
    )
    const participations = await documentCollection(
      { db: this.#context.jobs.unfilteredDb },
      Participation.collection,
    )
      .find({ carePlanId, mvUid }, { session })
      .toArray()
    const now = this.#context.clock()
    const roles = (plan ? participations : [])
      .filter((one) => isInEffect(timesFromStored(one), now))
      .map(({ access }) => access)
    for (const right of ['read', 'write', 'manage'] as const) {
      const hasRight = roles.some((access) => ACCESS_OF_RIGHT[right].includes(access))
      await setPlanRole(this.#context, session, mvUid, { ehrId, carePlanId, right }, hasRight)
    }
  }
}

/** Finds the users who take part in a care plan at a time, also when it is deleted. */
export const createParticipantFinder =
  ({ jobs }: StoreContext): FindParticipants =>
  async (carePlanId, at) => {
    const participations = documentCollection({ db: jobs.unfilteredDb }, Participation.collection)
    const planParticipations = await participations.find({ carePlanId }).toArray()
    const inEffect = planParticipations.filter((one) => isInEffect(timesFromStored(one), at))
    return new Set(inEffect.map(({ mvUid }) => String(mvUid)))
  }

/**
 * Whether a user is told of the change of their own participation, or that their care plan was deleted or returned,
 * although it may have ended their access.
 */
export const isToldToParticipant = (
  { collection, before, after, at, participants }: RecordChange,
  { userId }: Caller,
): boolean =>
  participants?.has(userId) === true ||
  (collection === Participation.collection &&
    [before, after].some((one) => one?.mvUid === userId && isInEffect(timesFromStored(one), at)))

const isSubjectViolation: Violation = {
  path: 'mvUid',
  code: 'subject',
  message: 'is the subject of the EHR, who has access to all its care plans already',
}
const notAcceptedViolation: Violation = {
  path: 'mvUid',
  code: 'pending',
  message: 'cannot be added before the subject of the EHR has accepted it',
}
const noUserViolation: Violation = { path: 'mvUid', code: 'user', message: 'must be a user of this service' }
const anotherUserViolation: Violation = { path: 'mvUid', code: 'fixed', message: 'cannot be changed' }
const alreadyParticipatingViolation: Violation = {
  path: 'mvUid',
  code: 'twice',
  message: 'already takes part in this care plan',
}
const archivedViolation: Violation = {
  path: 'status',
  code: 'archived',
  message: 'cannot be changed because it is archived. Add the participant again',
}
