import type { IndexDescription } from 'mongodb'
import type { CarePlanBody, CarePlanReplacement } from '../../schemas/care-plan.ts'
import type { ClosingWithContents } from '../../schemas/care-plan-resource.ts'
import type { TemplateUse } from '../../schemas/care-plan-template.ts'
import { ServiceError } from '../../schemas/errors.ts'
import type { SendMail } from '../accounts/user/mails.ts'
import type { Ehrs } from '../ehrs/ehrs.ts'
import { unlessClosed } from '../registered/closable.ts'
import { inTurn, intoPlan, replaceInTurn } from '../registered/into.ts'
import { PlanDocuments } from '../registered/plan-documents.ts'
import { auditingRefusal } from '../registered/refusals/refusals.ts'
import type { Holders, Key, Writing } from '../registered/registered.ts'
import { STEP } from '../store/batching/steps.ts'
import type { Caller } from '../store/documents/caller.ts'
import type { Page, PageOf } from '../store/reading/listing.ts'
import { type Jobs, untilDone } from '../store/steps/under-way.ts'
import { unlessMade } from '../store/writing/once.ts'
import { inTransaction, type Records, readTogether, type Transaction } from '../store/writing/transaction.ts'
import { closeInSteps, closesAtOnce, closingJob } from './closing.ts'
import { CarePlan } from './contents/plan-kinds.ts'
import { type PlanRecords, planRecords, type StoredPlan } from './contents/stores.ts'
import { assembled, type PlanWithGoals, planWithGoals } from './contents/with-contents.ts'
import { Goals } from './goals.ts'
import { Participants } from './participants/participants.ts'
import { PlanSettings } from './settings.ts'
import { Tasks } from './tasks.ts'
import { fillInSteps, fillingJob, idsOf } from './templates/filling.ts'
import { filledIn, placed } from './templates/from-template.ts'
import type { CarePlanTemplates } from './templates/templates.ts'

/** What a list of care plans can be narrowed by; dates as YYYY-MM-DD, `from` inclusive, `to` exclusive, in UTC. */
export interface PlanFilter {
  status?: StoredPlan['status'] | undefined
  name?: string | undefined
  from?: string | undefined
  to?: string | undefined
}

/** The care plans of the EHRs, with their goals, tasks and participants. */
export class CarePlans {
  readonly #records: Records
  readonly #ehrs: Ehrs
  readonly of: PlanRecords
  readonly goals: Goals
  readonly tasks: Tasks
  readonly participants: Participants
  readonly settings: PlanDocuments<Record<string, unknown>>
  readonly templates: CarePlanTemplates

  constructor(records: Records, ehrs: Ehrs, sendMail: SendMail, templates: CarePlanTemplates) {
    this.#records = records
    this.templates = templates
    this.#ehrs = ehrs
    this.of = planRecords(records, this.holders)
    this.goals = new Goals(records, this.of)
    this.tasks = new Tasks(records, this.of, ehrs)
    this.participants = new Participants(records, this.of.plans, sendMail)
    this.settings = new PlanDocuments(records, this.holders, PlanSettings)
  }

  /** Whether there is the EHR, or the care plan, of a request. */
  get holders(): Holders {
    return {
      ehr: (caller, ehrId) => this.#ehrs.get(caller, ehrId),
      plan: (caller, key) => this.of.plans.get(caller, key),
    }
  }

  /** What goes on after the transaction that began it. */
  get jobs(): Jobs {
    const fill = fillingJob(this.#records, this.of, this.templates, this.participants)
    return { close: closingJob(this.#records, this.of), fill }
  }

  /** What is kept beside the kinds that are classes, too. */
  indexes(): [collection: string, IndexDescription[]][] {
    return [this.participants.indexes(), this.settings.indexes()]
  }

  /** The care plans that the caller may read, the newest first. @throws NotFound as ehrs.get */
  async list(
    caller: Caller,
    ehrId: string,
    { status, name, from, to }: PlanFilter,
    page: PageOf,
  ): Promise<Page<StoredPlan>> {
    const createdAt = { from: startOf(from), to: startOf(to) }
    const where = { ehrId, status, name, createdAt }
    const found = await this.of.plans.store.list(caller, 'newest', { where, ...page })
    if (found.items.length === 0) await this.#ehrs.get(caller, ehrId)
    return found
  }

  /** @throws NotFound */
  get(caller: Caller, key: Key): Promise<PlanWithGoals> {
    return readTogether(this.#records, async (tx) =>
      planWithGoals(this.of, caller, await this.of.plans.store.get(caller, key, { tx }), tx),
    )
  }

  /** @throws NotFound; Forbidden for one who may only read the EHR; RuleViolated */
  create(caller: Caller, ehrId: string, body: CarePlanBody, id: string): Promise<PlanWithGoals> {
    return this.#made(caller, { id, ehrId }, async () =>
      assembled(await this.of.plans.createIn(caller, { ehrId }, body, id), [], []),
    )
  }

  /** What an earlier attempt of the same request has made may hold something by now. */
  #made(caller: Caller, key: Key, create: () => Promise<PlanWithGoals>): Promise<PlanWithGoals> {
    return unlessMade(
      () => auditingRefusal(this.#records, caller, CarePlan.collection, key.ehrId, create),
      () => this.#whenDone(caller, key),
    )
  }

  /** A plan with the goals and tasks of a template. @throws as create; NotFound too when there is no such template */
  async createFromTemplate(
    caller: Caller,
    ehrId: string,
    templateId: string,
    use: TemplateUse,
    newId: () => string,
  ): Promise<PlanWithGoals> {
    const template = this.templates.get(templateId, use.language)
    if (!template) throw new ServiceError('NotFound', { detail: 'There is no such template.' })
    const today = this.#records.clock().toISOString().slice(0, 10)
    const { plan, goals } = filledIn(template, use, today)
    const id = newId()
    const place = { ehrId, carePlanId: id }
    const size = goals.reduce((sum, { tasks }) => sum + 1 + tasks.length, 1)
    const atOnce = size <= STEP.documents
    const contents = placed(goals, place, atOnce ? newId : idsOf(id))
    const invited = (use.participants ?? []).map((body) => ({ body, id: newId() }))
    const begin = (tx: Transaction) => this.of.plans.createIn(caller, { ehrId }, plan, id, tx)
    if (!atOnce)
      return this.#made(caller, { id, ehrId }, async () => {
        await this.#tried(async (tx) => {
          await begin(tx)
          await this.participants.createAllIn(tx, caller, place, invited)
        })
        await inTransaction(this.#records, async (tx) => {
          await begin(tx)
          const filling = { templateId, use, today, invited }
          await fillInSteps(this.#records, tx, caller, place, filling)
        })
        return this.#whenDone(caller, { id, ehrId })
      })
    const work = async (tx: Transaction): Promise<PlanWithGoals> => {
      const created = await begin(tx)
      const into = intoPlan(place)
      const newGoals = await this.of.goals.store.createAll(caller, contents.goals, into, { tx })
      const newTasks = await this.of.tasks.store.createAll(caller, contents.tasks, into, { tx })
      await this.participants.createAllIn(tx, caller, place, invited)
      return assembled(created, newGoals, newTasks)
    }
    return this.#made(caller, { id, ehrId }, () => inTransaction(this.#records, work))
  }

  /** Finds out whether something would be refused, and leaves nothing of it. */
  async #tried(work: (tx: Transaction) => Promise<void>): Promise<void> {
    const undone = new Error('It was only tried.')
    const trial = inTransaction(this.#records, async (tx) => {
      await work(tx)
      throw undone
    })
    await trial.catch((error) => {
      if (error !== undone) throw error
    })
  }

  /** The plan when all that is done to it in steps is done. @throws Unavailable when that takes longer than anybody waits */
  async #whenDone(caller: Caller, key: Key): Promise<PlanWithGoals> {
    await untilDone(this.#records, { field: 'carePlanId', id: key.id })
    return this.get(caller, key)
  }

  /** @throws NotFound; Forbidden; PreconditionFailed; RuleViolated */
  async replace(
    caller: Caller,
    key: Key,
    body: Omit<CarePlanReplacement, 'id'>,
    { expected }: Writing,
  ): Promise<PlanWithGoals> {
    const replaced = await replaceInTurn(this.#records, key.ehrId, body, (tx) =>
      this.of.plans.replace(caller, key, body, { tx, expected }),
    )
    return this.#withContents(caller, replaced)
  }

  /**
   * Closes a plan, and with `closeOpen` what is open in it; else that stays open.
   * @throws as replace; RuleViolated when it is closed already
   */
  close(caller: Caller, key: Key, closing: ClosingWithContents, options: Writing): Promise<PlanWithGoals> {
    const { expected } = options
    const close = () =>
      inTurn(this.#records, key.ehrId, async (tx) => {
        const plan = await this.of.plans.close(caller, key, closing, { tx, expected })
        const { status = 'COMPLETED', closeOpen } = closing
        if (closeOpen && !(await closesAtOnce(this.#records, tx, key.id)))
          return void (await closeInSteps(this.#records, tx, caller, plan, status))
        const read = await planWithGoals(this.of, caller, plan, tx)
        if (!closeOpen) return read
        return { ...read, goals: await this.goals.closeAll(caller, read.goals, status, tx) }
      })
    const closed = async () => (await close()) ?? this.#whenDone(caller, key)
    return unlessClosed(options, closing, () => this.get(caller, key), closed)
  }

  history(caller: Caller, key: Key, page: PageOf) {
    return this.of.plans.history(caller, key, page)
  }

  /** @throws as replace; NotFound for a version that is not known */
  async restore(caller: Caller, key: Key, version: number, options: Writing): Promise<PlanWithGoals> {
    return this.#withContents(caller, await this.of.plans.restore(caller, key, version, options))
  }

  #withContents(caller: Caller, plan: StoredPlan): Promise<PlanWithGoals> {
    return readTogether(this.#records, (tx) => planWithGoals(this.of, caller, plan, tx))
  }
}

const startOf = (date: string | undefined) => date && `${date}T00:00:00.000Z`
