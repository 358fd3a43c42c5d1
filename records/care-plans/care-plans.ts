import type { Static } from '@sinclair/typebox'
import type { IndexDescription } from 'mongodb'
import type {
  CarePlanBody,
  CarePlanReplacement,
  ClosingWithContents,
} from '../../schemas/care-plan-resource.ts'
import type { TemplateUse } from '../../schemas/care-plan-template.ts'
import { ServiceError } from '../../schemas/errors.ts'
import type { SendMail } from '../accounts/user/mails.ts'
import { planPermissions } from '../ehrs/access.ts'
import type { Ehrs } from '../ehrs/ehrs.ts'
import { auditingRefusal, inEhr, inOpenPlan, replaceInTurn, takeTurn } from '../registered/context.ts'
import { judgeNew } from '../registered/judge.ts'
import { Part, type PartKey, set, unlessClosed, type Writing } from '../registered/part.ts'
import type { Caller } from '../store/documents/caller.ts'
import type { Page, PageOf } from '../store/reading/listing.ts'
import { unlessMade } from '../store/writing/once.ts'
import { inTransaction, type Records, readTogether, type Transaction } from '../store/writing/transaction.ts'
import { type PlanStores, planStores, type StoredPlan } from './contents/stores.ts'
import { assembled, type WholePlan, wholePlan } from './contents/whole.ts'
import { Goals } from './goals.ts'
import { Participants } from './participants/participants.ts'
import { PlanSettings } from './settings.ts'
import { Tasks } from './tasks.ts'
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
  readonly #part
  readonly stores: PlanStores
  readonly goals: Goals
  readonly tasks: Tasks
  readonly participants: Participants
  readonly settings: PlanSettings
  readonly templates: CarePlanTemplates

  constructor(records: Records, ehrs: Ehrs, sendMail: SendMail, templates: CarePlanTemplates) {
    this.#records = records
    this.templates = templates
    this.#ehrs = ehrs
    this.stores = planStores(records)
    this.#part = new Part('CarePlan', this.stores.plans)
    this.goals = new Goals(records, this.stores)
    this.tasks = new Tasks(records, this.stores, ehrs)
    this.participants = new Participants(records, this.stores.plans, sendMail)
    this.settings = new PlanSettings(records, this.stores.plans)
  }

  /** The collections and the indexes that they need: server start creates them. */
  indexes(): [collection: string, IndexDescription[]][] {
    return [...Object.values(this.stores), this.participants, this.settings].map((store) => store.indexes())
  }

  /** The care plans that the caller may read, the newest first. @throws NotFound when the EHR is none of his */
  async list(
    caller: Caller,
    ehrId: string,
    { status, name, from, to }: PlanFilter,
    page: PageOf,
  ): Promise<Page<StoredPlan>> {
    const createdAt = { from: startOf(from), to: startOf(to) }
    const where = { ehrId, status, name, createdAt }
    const found = await this.stores.plans.list(caller, 'newest', { where, ...page })
    if (found.items.length === 0) await this.#ehrs.get(caller, ehrId)
    return found
  }

  /** @throws NotFound */
  get(caller: Caller, key: PartKey): Promise<WholePlan> {
    return readTogether(this.#records, async (tx) =>
      wholePlan(this.stores, caller, await this.stores.plans.get(caller, key, { tx }), tx),
    )
  }

  /** @throws NotFound; Forbidden for one who may only read the EHR; RuleViolated */
  create(
    caller: Caller,
    ehrId: string,
    body: Static<typeof CarePlanBody>,
    newId: () => string,
  ): Promise<WholePlan> {
    const id = newId()
    return this.#unlessMade(caller, { id, ehrId }, async () =>
      assembled(await this.#createPlan(caller, { id, ehrId }, body), [], []),
    )
  }

  /** A plan with the goals and tasks of a template. @throws as create; NotFound too when there is no such template */
  async createFromTemplate(
    caller: Caller,
    ehrId: string,
    templateId: string,
    use: TemplateUse,
    newId: () => string,
  ): Promise<WholePlan> {
    const template = this.templates.get(templateId, use.language)
    if (!template) throw new ServiceError('NotFound', { detail: 'There is no such template.' })
    const today = this.#records.clock().toISOString().slice(0, 10)
    const { plan, goals } = filledIn(template, use, today)
    const id = newId()
    const place = { ehrId, carePlanId: id }
    const contents = placed(goals, place, newId)
    const invited = (use.participants ?? []).map((body) => ({ body, id: newId() }))
    const work = async (tx: Transaction): Promise<WholePlan> => {
      const created = await this.#createPlan(caller, { id, ehrId }, plan, tx)
      const into = inOpenPlan(place)
      const newGoals = await this.stores.goals.createAll(caller, contents.goals, into, { tx })
      const newTasks = await this.stores.tasks.createAll(caller, contents.tasks, into, { tx })
      await this.participants.createAllIn(tx, caller, place, invited)
      return assembled(created, newGoals, newTasks)
    }
    return this.#unlessMade(caller, { id, ehrId }, () => inTransaction(this.#records, work))
  }

  /** Writes a plan that is still empty. */
  async #createPlan(
    caller: Caller,
    { id, ehrId }: PartKey,
    body: Static<typeof CarePlanBody>,
    tx?: Transaction,
  ): Promise<StoredPlan> {
    const plan = { anonymous: false, ...set(body), ehrId }
    judgeNew('CarePlan', plan)
    const into = inEhr(ehrId, (subjectId) => planPermissions(ehrId, id, subjectId))
    return this.stores.plans.create(caller, { ...plan, status: 'ACTIVE' }, into, { tx, id })
  }

  #unlessMade(caller: Caller, key: PartKey, create: () => Promise<WholePlan>): Promise<WholePlan> {
    return unlessMade(
      () => auditingRefusal(this.#records, caller, 'CarePlan', key.ehrId, create),
      () => this.get(caller, key),
    )
  }

  /** @throws NotFound; Forbidden; PreconditionFailed; RuleViolated */
  async replace(
    caller: Caller,
    key: PartKey,
    body: Omit<Static<typeof CarePlanReplacement>, 'id'>,
    { ifMatch }: Writing,
  ): Promise<WholePlan> {
    const plan = { ...body, anonymous: body.anonymous ?? false }
    const replaced = await replaceInTurn(this.#records, key.ehrId, body, (tx) =>
      this.#part.replace(caller, key, plan, { tx, ifMatch }),
    )
    return wholePlan(this.stores, caller, replaced)
  }

  /**
   * Closes a plan, and with `closeOpen` what is open in it; else that stays open.
   * @throws as replace; RuleViolated when it is closed already
   */
  close(caller: Caller, key: PartKey, closing: ClosingWithContents, options: Writing): Promise<WholePlan> {
    const { ifMatch } = options
    const close = () =>
      inTransaction(this.#records, async (tx) => {
        const plan = await this.#part.close(caller, key, closing, { tx, ifMatch })
        await takeTurn(this.#records, tx, key.ehrId)
        const whole = await wholePlan(this.stores, caller, plan, tx)
        const { status = 'COMPLETED', closeOpen } = closing
        if (!closeOpen) return whole
        return { ...whole, goals: await this.goals.closeAll(caller, whole.goals, status, tx) }
      })
    return unlessClosed(options, closing, () => this.get(caller, key), close)
  }

  history(caller: Caller, key: PartKey, page: PageOf) {
    return this.#part.history(caller, key, page)
  }

  /** @throws as replace; NotFound for a version that is not known */
  async restore(caller: Caller, key: PartKey, version: number, options: Writing): Promise<WholePlan> {
    return wholePlan(this.stores, caller, await this.#part.restore(caller, key, version, options))
  }
}

const startOf = (date: string | undefined) => date && `${date}T00:00:00.000Z`
