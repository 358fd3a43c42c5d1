import type { TemplateUse } from '../../../schemas/care-plans/care-plan-template.ts'
import type { ParticipationBody } from '../../../schemas/care-plans/participation.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import { BATCH_LIMITS } from '../../store/batching/transaction-batches.ts'
import type { Caller } from '../../store/documents/caller.ts'
import { documentCollection } from '../../store/documents/database.ts'
import { createSeededIdGenerators } from '../../store/documents/ids.ts'
import { jobRequesterOf } from '../../store/documents/job.ts'
import { fromStoredPermissions } from '../../store/documents/parse-format.ts'
import { enqueueJob, type JobHandler } from '../../store/jobs/background-jobs.ts'
import type { StoreContext, Transaction } from '../../store/writing/transaction.ts'
import type { PlanStores } from '../contents/plan-stores.ts'
import type { Participants } from '../participants/participants.ts'
import type { CarePlanTemplates } from './care-plan-templates.ts'
import { buildGoalsAndTasks, instantiateTemplate } from './from-template.ts'

/** The input of the job. A template always gives the same contents, so a repeated step writes the same. */
export interface PlanFillingDetails {
  templateId: string
  use: TemplateUse
  /** YYYY-MM-DD */
  today: string
  invited: { body: ParticipationBody; id: string }[]
}

interface CarePlanKey {
  ehrId: string
  carePlanId: string
}

const PLAN_PARTS = ['goals', 'tasks'] as const

/**
 * Queues the job that fills a plan after the transaction that creates it was committed; nobody sees the plan
 * until then.
 */
export const startPlanFilling = (
  context: StoreContext,
  tx: Transaction,
  caller: Caller,
  { ehrId, carePlanId: id }: CarePlanKey,
  details: PlanFillingDetails,
): Promise<void> =>
  enqueueJob(context, tx, caller, { job: 'fill', field: 'carePlanId', id, ehrId, details, hidesPlan: true })

/** Generates the same ids for the same plan each time, so that a repeated step writes no duplicates. */
export const idGeneratorFor = (carePlanId: string): (() => string) =>
  createSeededIdGenerators(Buffer.from(carePlanId)).newId

export const createPlanFillingJob =
  (
    context: StoreContext,
    stores: PlanStores,
    templates: CarePlanTemplates,
    participants: Participants,
  ): JobHandler =>
  async ({ id, ehrId, by, details }, { runStep, runLastStep }) => {
    const { templateId, use, today, invited } = details as PlanFillingDetails
    const template = templates.get(templateId, use.language)
    if (!template) throw new Error(`The template ${templateId} does not exist any more.`)
    const caller = { ...jobRequesterOf({ by }), roles: [], unrestricted: true } as const
    const contents = buildGoalsAndTasks(
      instantiateTemplate(template, use, today).goals,
      { ehrId, carePlanId: id },
      idGeneratorFor(id),
    )
    for (const members of PLAN_PARTS)
      for (const batch of splitIntoSteps<{ id: string }>(contents[members])) {
        await runStep(async (tx) => {
          const { session } = tx
          const plan = await documentCollection(context, 'CarePlan').findOne({ _id: id }, { session })
          if (!plan) return
          const filter = { _id: { $in: batch.map((member) => member.id) } }
          const existingDocuments = documentCollection(context, stores[members].kind.collection).find(
            filter,
            { session },
          )
          const existing = new Set((await existingDocuments.toArray()).map(({ _id }) => _id))
          const missing = batch.filter((member) => !existing.has(member.id))
          const permissions = fromStoredPermissions(plan)
          await stores[members].store.createAll(caller, missing as never, permissions, { tx })
        })
      }
    await runLastStep((tx) =>
      participants.createAllIn(tx, caller, { ehrId, carePlanId: id }, invited).catch(ignoreRefusal),
    )
  }

/** A participant who passed the check earlier may be gone by now; the others are still added. */
function ignoreRefusal(error: unknown): void {
  if (!(error instanceof ServiceError && ['RuleViolated', 'NotFound'].includes(error.error))) throw error
}

/** Steps of as many records as one transaction may write. */
function* splitIntoSteps<T>(members: readonly T[]): Generator<T[]> {
  for (let i = 0; i < members.length; i += BATCH_LIMITS.maxDocuments)
    yield members.slice(i, i + BATCH_LIMITS.maxDocuments)
}
