import type { IndexDescription } from 'mongodb'
import type { CarePlanBody, CarePlanReplacement } from '../../schemas/care-plans/care-plan.ts'
import type { ClosingRequestWithContents } from '../../schemas/care-plans/care-plan-resource.ts'
import type {
  CarePlanTemplate,
  TemplateAddition,
  TemplateUse,
} from '../../schemas/care-plans/care-plan-template.ts'
import { ServiceError } from '../../schemas/errors.ts'
import type { Violation } from '../../schemas/validation/violations.ts'
import type { SendMail } from '../accounts/user/mails.ts'
import { closeOrFindClosed } from '../ehr-records/closable-records.ts'
import type { EhrRecordKey, EhrWriteOptions } from '../ehr-records/ehr-records.ts'
import { replaceWithEhrLock, runWithEhrLock } from '../ehr-records/parents/exclusive-ehr-lock.ts'
import { planInsertTarget } from '../ehr-records/parents/parents.ts'
import { PlanDocuments } from '../ehr-records/plan-documents.ts'
import { auditRefusedCreation } from '../ehr-records/refusals/refusals.ts'
import { BATCH_LIMITS } from '../store/batching/transaction-batches.ts'
import type { Caller } from '../store/documents/caller.ts'
import { type JobHandlers, waitForJob } from '../store/jobs/background-jobs.ts'
import type { Page, PageRequest } from '../store/reading/pages.ts'
import { createOrFindExisting } from '../store/writing/create-or-find-existing.ts'
import {
  type AuditedReads,
  runAndRollBack,
  runAuditedReads,
  runStoreTransaction,
  type StoreContext,
  type Transaction,
} from '../store/writing/transaction.ts'
import { CarePlan, Goal } from './contents/plan-kinds.ts'
import { createPlanStores, type PlanStores, type StoredPlan } from './contents/plan-stores.ts'
import { assemblePlan, type PlanWithGoals, readPlanWithGoals } from './contents/plan-with-goals.ts'
import { Goals } from './goals.ts'
import { Participants } from './participants/participants.ts'
import { canCloseAtOnce, createPlanClosingJob, startPlanClosing } from './plan-closing-job.ts'
import { PlanSettings } from './plan-settings.ts'
import { Tasks } from './tasks.ts'
import type { CarePlanTemplates } from './templates/care-plan-templates.ts'
import { buildGoalsAndTasks, instantiateTemplate } from './templates/from-template.ts'
import { createPlanFillingJob, idGeneratorFor, startPlanFilling } from './templates/plan-filling-job.ts'

/** Filters of a list of care plans; dates as YYYY-MM-DD in UTC, `from` inclusive, `to` exclusive. */
export interface PlanFilter {
  status?: StoredPlan['status'] | undefined
  name?: string | undefined
  from?: string | undefined
  to?: string | undefined
}

/** The care plans of the EHRs, with their goals, tasks and participants. */
export class CarePlans {
  readonly #context: StoreContext
  readonly stores: PlanStores
  readonly goals: Goals
  readonly tasks: Tasks
  readonly participants: Participants
  readonly settings: PlanDocuments<Record<string, unknown>>
  readonly templates: CarePlanTemplates

  constructor(context: StoreContext, sendMail: SendMail, templates: CarePlanTemplates) {
    this.#context = context
    this.templates = templates
    this.stores = createPlanStores(context)
    this.goals = new Goals(context, this.stores)
    this.tasks = new Tasks(context, this.stores)
    this.participants = new Participants(context, sendMail)
    this.settings = new PlanDocuments(context, PlanSettings)
  }

  /** The background jobs of care plans, by name. */
  get jobs(): JobHandlers {
    const fill = createPlanFillingJob(this.#context, this.stores, this.templates, this.participants)
    return { close: createPlanClosingJob(this.#context, this.stores), fill }
  }

  /** The indexes of the collections that are not kinds. */
  indexes(): [collection: string, IndexDescription[]][] {
    return [this.participants.indexes(), this.settings.indexes()]
  }

  /** Lists the care plans that the caller may read, newest first. @throws NotFound */
  list(
    caller: Caller,
    ehrId: string,
    { status, name, from, to }: PlanFilter,
    page: PageRequest,
  ): Promise<Page<StoredPlan>> {
    const createdAt = { from: startOfDay(from), to: startOfDay(to) }
    const where = { ehrId, status, name, createdAt }
    return this.stores.plans.store.list(caller, 'newest', { where, ...page })
  }

  /** @throws NotFound */
  get(caller: Caller, key: EhrRecordKey): Promise<PlanWithGoals> {
    return runAuditedReads(this.#context, (tx) => this.#readIn(caller, key, tx))
  }

  async #readIn(caller: Caller, key: EhrRecordKey, tx: AuditedReads): Promise<PlanWithGoals> {
    const plan = await this.stores.plans.store.get(caller, key, { tx })
    return readPlanWithGoals(this.stores, caller, plan, tx)
  }

  /** @throws NotFound; Forbidden if the caller may only read the EHR; RuleViolated */
  create(caller: Caller, ehrId: string, body: CarePlanBody, id: string): Promise<PlanWithGoals> {
    return this.#createOrFind(caller, { id, ehrId }, async () =>
      assemblePlan(await this.stores.plans.createIn(caller, { ehrId }, body, id), [], []),
    )
  }

  /** A plan that an earlier attempt created may have contents by now, so it is read as a whole. */
  #createOrFind(
    caller: Caller,
    key: EhrRecordKey,
    create: () => Promise<PlanWithGoals>,
  ): Promise<PlanWithGoals> {
    return createOrFindExisting(
      () => auditRefusedCreation(this.#context, caller, CarePlan.collection, key.ehrId, create),
      () => this.#waitUntilDone(caller, key),
    )
  }

  /**
   * Creates a plan with the goals and tasks of a template.
   * @throws as create; NotFound also for an unknown template
   */
  async createFromTemplate(
    caller: Caller,
    ehrId: string,
    templateId: string,
    use: TemplateUse,
    newId: () => string,
  ): Promise<PlanWithGoals> {
    const today = this.#today()
    const { plan, goals } = instantiateTemplate(this.#requireTemplate(templateId, use), use, today)
    const id = newId()
    const parentIds = { ehrId, carePlanId: id }
    const size = goals.reduce((sum, { tasks }) => sum + 1 + tasks.length, 1)
    const atOnce = size <= BATCH_LIMITS.maxDocuments
    const contents = buildGoalsAndTasks(goals, parentIds, atOnce ? newId : idGeneratorFor(id))
    const invited = (use.participants ?? []).map((body) => ({ body, id: newId() }))
    const begin = (tx: Transaction) => this.stores.plans.createIn(caller, { ehrId }, plan, id, tx)
    if (!atOnce)
      return this.#createOrFind(caller, { id, ehrId }, async () => {
        // Shows refusals before a job is queued.
        await runAndRollBack(this.#context, async (tx) => {
          await begin(tx)
          await this.participants.createAllIn(tx, caller, parentIds, invited)
        })
        await runStoreTransaction(this.#context, async (tx) => {
          await begin(tx)
          const filling = { templateId, use, today, invited }
          await startPlanFilling(this.#context, tx, caller, parentIds, filling)
        })
        return this.#waitUntilDone(caller, { id, ehrId })
      })
    const work = async (tx: Transaction): Promise<PlanWithGoals> => {
      const newPlan = await begin(tx)
      const into = planInsertTarget(parentIds)
      const newGoals = await this.stores.goals.store.createAll(caller, contents.goals, into, { tx })
      const newTasks = await this.stores.tasks.store.createAll(caller, contents.tasks, into, { tx })
      await this.participants.createAllIn(tx, caller, parentIds, invited)
      return assemblePlan(newPlan, newGoals, newTasks)
    }
    return this.#createOrFind(caller, { id, ehrId }, () =>
      runStoreTransaction(this.#context, work, { admission: caller.admission }),
    )
  }

  /**
   * Adds the goals and tasks of a template to a plan.
   * @throws NotFound, also for an unknown template; Forbidden; RuleViolated, also when the plan is closed or full, or
   * the template has more than one transaction adds
   */
  async addFromTemplate(
    caller: Caller,
    key: EhrRecordKey,
    templateId: string,
    use: TemplateAddition,
    newId: () => string,
  ): Promise<PlanWithGoals> {
    const template = this.#requireTemplate(templateId, use)
    const parentIds = { ehrId: key.ehrId, carePlanId: key.id }
    const { goals } = instantiateTemplate(template, use, this.#today())
    const contents = buildGoalsAndTasks(goals, parentIds, newId)
    if (contents.goals.length + contents.tasks.length > BATCH_LIMITS.maxDocuments)
      throw new ServiceError('RuleViolated', { violations: [templateTooLargeViolation] })
    const work = async (tx: Transaction) => {
      for (const { id, status: _, ...goal } of contents.goals)
        await this.stores.goals.createIn(caller, parentIds, goal, id, tx)
      await this.stores.tasks.store.createAll(caller, contents.tasks, planInsertTarget(parentIds), { tx })
      return this.#readIn(caller, key, tx)
    }
    return createOrFindExisting(
      () =>
        auditRefusedCreation(this.#context, caller, Goal.collection, key.ehrId, () =>
          runWithEhrLock(this.#context, key.ehrId, work),
        ),
      () => this.get(caller, key),
    )
  }

  #requireTemplate(id: string, { language }: TemplateAddition): CarePlanTemplate {
    const template = this.templates.get(id, language)
    if (!template) throw new ServiceError('NotFound', { detail: 'There is no template with this id.' })
    return template
  }

  /** YYYY-MM-DD in UTC */
  #today(): string {
    return this.#context.clock().toISOString().slice(0, 10)
  }

  /** The plan, once its background job has finished. @throws Unavailable when the job takes too long */
  async #waitUntilDone(caller: Caller, key: EhrRecordKey): Promise<PlanWithGoals> {
    await waitForJob(this.#context, { field: 'carePlanId', id: key.id })
    return this.get(caller, key)
  }

  /** @throws NotFound; Forbidden; PreconditionFailed; RuleViolated */
  async replace(
    caller: Caller,
    key: EhrRecordKey,
    body: Omit<CarePlanReplacement, 'id'>,
    { expected }: EhrWriteOptions,
  ): Promise<PlanWithGoals> {
    const plan = await replaceWithEhrLock(this.#context, key.ehrId, body, (tx) =>
      this.stores.plans.replace(caller, key, body, { tx, expected }),
    )
    return this.#readWithGoals(caller, plan)
  }

  /**
   * Closes a plan, and with `closeOpen` its open goals and tasks; otherwise these stay open.
   * @throws as replace; RuleViolated when it is closed already
   */
  close(
    caller: Caller,
    key: EhrRecordKey,
    closing: ClosingRequestWithContents,
    options: EhrWriteOptions,
  ): Promise<PlanWithGoals> {
    const { expected } = options
    const close = () =>
      runWithEhrLock(this.#context, key.ehrId, async (tx) => {
        const plan = await this.stores.plans.close(caller, key, closing, { tx, expected })
        const { status = 'COMPLETED', closeOpen } = closing
        if (closeOpen && !(await canCloseAtOnce(this.#context, tx, key.id)))
          return void (await startPlanClosing(this.#context, tx, caller, plan, status))
        const read = await readPlanWithGoals(this.stores, caller, plan, tx)
        if (!closeOpen) return read
        return { ...read, goals: await this.goals.closeAll(caller, read.goals, status, tx) }
      })
    const closeAndWait = async () => (await close()) ?? this.#waitUntilDone(caller, key)
    return closeOrFindClosed(options, closing, () => this.get(caller, key), closeAndWait)
  }

  history(caller: Caller, key: EhrRecordKey, page: PageRequest) {
    return this.stores.plans.history(caller, key, page)
  }

  /** @throws as replace; NotFound for an unknown version */
  async restore(
    caller: Caller,
    key: EhrRecordKey,
    version: number,
    options: EhrWriteOptions,
  ): Promise<PlanWithGoals> {
    const plan = await this.stores.plans.restore(caller, key, version, options, (tx) =>
      this.participants.restoreRoles(tx, key),
    )
    return this.#readWithGoals(caller, plan)
  }

  /**
   * Deletes a plan with all that is in it; {@link restore} brings it back.
   * @throws NotFound; Forbidden for participants; PreconditionFailed
   */
  remove(caller: Caller, key: EhrRecordKey, options: EhrWriteOptions): Promise<void> {
    return this.stores.plans.remove(caller, key, options)
  }

  #readWithGoals(caller: Caller, plan: StoredPlan): Promise<PlanWithGoals> {
    return runAuditedReads(this.#context, (tx) => readPlanWithGoals(this.stores, caller, plan, tx))
  }
}

const templateTooLargeViolation: Violation = {
  path: 'guidelineId',
  code: 'too-large',
  message: 'names a template with more goals and tasks than one request adds; create a plan from it',
}

const startOfDay = (date: string | undefined) => date && `${date}T00:00:00.000Z`
