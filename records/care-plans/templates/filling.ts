import type { TemplateUse } from '../../../schemas/care-plan-template.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import type { ParticipationBody } from '../../../schemas/participation.ts'
import { STEP } from '../../store/batching/steps.ts'
import type { Caller } from '../../store/documents/caller.ts'
import { documentsOf } from '../../store/documents/database.ts'
import { seededIds } from '../../store/documents/ids.ts'
import { beginWork, type Job } from '../../store/steps/under-way.ts'
import type { Records, Transaction } from '../../store/writing/transaction.ts'
import type { PlanRecords } from '../contents/stores.ts'
import type { Participants } from '../participants/participants.ts'
import { filledIn, placed } from './from-template.ts'
import type { CarePlanTemplates } from './templates.ts'

/** All that has to be known to fill a plan, and to tell who takes part in it: what is made of a template is the same each time. */
export interface Filling {
  templateId: string
  use: TemplateUse
  /** YYYY-MM-DD */
  today: string
  invited: { body: ParticipationBody; id: string }[]
}

interface Place {
  ehrId: string
  carePlanId: string
}

const MEMBERS = ['goals', 'tasks'] as const

/** Has a plan filled in steps, once the transaction that makes it has been committed. Nobody sees it before the last one is done. */
export const fillInSteps = (
  records: Records,
  tx: Transaction,
  caller: Caller,
  { ehrId, carePlanId: id }: Place,
  details: Filling,
): Promise<void> =>
  beginWork(records, tx, caller, { job: 'fill', field: 'carePlanId', id, ehrId, details, hidesPlan: true })

/** The ids of what is in a plan that is filled in steps. */
export const idsOf = (carePlanId: string): (() => string) => seededIds(Buffer.from(carePlanId)).newId

export const fillingJob =
  (records: Records, of: PlanRecords, templates: CarePlanTemplates, participants: Participants): Job =>
  async ({ id, ehrId, by, details }, { one, last }) => {
    const { templateId, use, today, invited } = details as Filling
    const template = templates.get(templateId, use.language)
    if (!template) throw new Error(`The template ${templateId} is not there any more.`)
    const caller = { ...by, roles: [], unrestricted: true } as const
    const contents = placed(filledIn(template, use, today).goals, { ehrId, carePlanId: id }, idsOf(id))
    for (const members of MEMBERS)
      for (const batch of parts<{ id: string }>(contents[members])) {
        await one(async (tx) => {
          const { session } = tx
          const plan = await documentsOf(records, 'CarePlan').findOne({ _id: id }, { session })
          if (!plan) return
          const known = { _id: { $in: batch.map((member) => member.id) } }
          const found = documentsOf(records, of[members].kind.collection).find(known, { session })
          const there = new Set((await found.toArray()).map(({ _id }) => _id))
          const missing = batch.filter((member) => !there.has(member.id))
          const permissions = { read: plan._rperm, write: plan._wperm }
          await of[members].store.createAll(caller, missing as never, permissions, { tx })
        })
      }
    await last((tx) =>
      participants.createAllIn(tx, caller, { ehrId, carePlanId: id }, invited).catch(unlessRefused),
    )
  }

/** They were judged before: who has gone since then does not take part, and the others do. */
function unlessRefused(error: unknown): void {
  if (!(error instanceof ServiceError && ['RuleViolated', 'NotFound'].includes(error.error))) throw error
}

/** As many at a time as one transaction writes. */
function* parts<T>(all: readonly T[]): Generator<T[]> {
  for (let i = 0; i < all.length; i += STEP.documents) yield all.slice(i, i + STEP.documents)
}
