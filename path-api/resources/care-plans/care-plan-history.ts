import type { TObject } from '@sinclair/typebox'
import type { CarePlans } from '../../../records/care-plans/care-plans.ts'
import type { EhrRecordKey, EhrWriteOptions } from '../../../records/ehr-records/ehr-records.ts'
import type { Caller } from '../../../records/store/documents/caller.ts'
import type { Page, PageRequest } from '../../../records/store/reading/pages.ts'
import type { RecordHistoryEntry } from '../../../records/store/store.ts'
import {
  CarePlanResource,
  CarePlanSummary,
  GoalResource,
  GoalSummary,
} from '../../../schemas/care-plans/care-plan-resource.ts'
import { TaskForms } from '../../../schemas/care-plans/task.ts'
import { defineChange } from '../../../schemas/change.ts'
import type { Operation } from '../../operation/operation.ts'
import { defineHistoryOperation, defineRestoreOperation } from '../../operation/record-operations.ts'
import { pickClientFields } from '../../reply/client-fields.ts'
import { type ReplyWithHead, replyWith } from '../../reply/reply.ts'
import { type EhrPathPrefix, mountAtEhrAndMed } from '../prefixes.ts'
import { replyWithCarePlan, replyWithGoal, toTaskResource } from './care-plan-representation.ts'

const historySource = 'EHR data: who changed what, and the way back'

/** A kind whose records have a history. */
interface VersionedKind<W> {
  name: 'CarePlan' | 'Goal' | 'Task'
  noun: string
  /** Below the EHR. */
  path: string
  former: TObject
  reply: TObject
  recordsOf(carePlans: CarePlans): {
    history(caller: Caller, key: EhrRecordKey, page: PageRequest): Promise<Page<RecordHistoryEntry<object>>>
    restore(caller: Caller, key: EhrRecordKey, version: number, options: EhrWriteOptions): Promise<W>
  }
  toReply(record: W): ReplyWithHead<Record<string, unknown>, { version: number }>
}

type VersionedParams = Record<string, string>

/** The last id of the path identifies the record, the others its parents. */
function versionedKeyOf({ ehrId = '', careplanId = '', goalId, taskId }: VersionedParams): EhrRecordKey {
  if (taskId !== undefined && goalId !== undefined)
    return { id: taskId, goalId, carePlanId: careplanId, ehrId }
  if (goalId !== undefined) return { id: goalId, carePlanId: careplanId, ehrId }
  return { id: careplanId, ehrId }
}

/** Changed fields that clients know. */
const withoutInternalNames = (names: readonly string[]) => names.filter((name) => !name.startsWith('_'))

function defineHistoryOperations<W>({
  name,
  noun,
  path,
  former,
  ...kind
}: VersionedKind<W>): ((mount: EhrPathPrefix) => Operation)[] {
  const definition = { source: historySource, extra: true, one: `a ${noun}` } as const
  const item = defineChange(name, noun, former)
  return [
    ({ base, idInfix }) =>
      defineHistoryOperation({
        ...definition,
        item,
        access: 'plan:read',
        namesForClients: withoutInternalNames,
        id: `list${idInfix}${name}Changes`,
        path: `${base}/{ehrId}${path}/history`,
        read: (params, page, { caller, carePlans }) =>
          kind.recordsOf(carePlans).history(caller, versionedKeyOf(params as VersionedParams), page),
        represent: (before) => pickClientFields(former.properties, before),
      }),
    ({ base, idInfix }) =>
      defineRestoreOperation({
        ...definition,
        access: 'plan:write',
        reply: kind.reply,
        id: `restore${idInfix}${name}`,
        path: `${base}/{ehrId}${path}/restore`,
        description: 'The status is not restored: a closed record stays closed.',
        errors: ['Conflict'],
        restore: async (params, version, { caller, carePlans, ifMatch }) =>
          kind.toReply(
            await kind
              .recordsOf(carePlans)
              .restore(caller, versionedKeyOf(params as VersionedParams), version, { expected: ifMatch }),
          ),
      }),
  ]
}

export const carePlanHistoryOperations = mountAtEhrAndMed(
  ...defineHistoryOperations({
    name: 'CarePlan',
    noun: 'care plan',
    path: '/careplan/{careplanId}',
    former: CarePlanSummary,
    reply: CarePlanResource,
    recordsOf: (carePlans) => carePlans,
    toReply: (plan) => replyWithCarePlan(plan),
  }),
  ...defineHistoryOperations({
    name: 'Goal',
    noun: 'goal',
    path: '/careplan/{careplanId}/goal/{goalId}',
    former: GoalSummary,
    reply: GoalResource,
    recordsOf: ({ goals }) => goals,
    toReply: (goal) => replyWithGoal(goal),
  }),
  ...defineHistoryOperations({
    name: 'Task',
    noun: 'task',
    path: '/careplan/{careplanId}/goal/{goalId}/task/{taskId}',
    former: TaskForms.resource,
    reply: TaskForms.resource,
    recordsOf: ({ tasks }) => tasks,
    toReply: (task) => replyWith(toTaskResource(task), { version: task.version }),
  }),
)
