import type { TObject } from '@sinclair/typebox'
import type { CarePlans } from '../../records/care-plans/care-plans.ts'
import type { Key, Writing } from '../../records/registered/registered.ts'
import type { Caller } from '../../records/store/documents/caller.ts'
import type { Page, PageOf } from '../../records/store/reading/listing.ts'
import type { PastChange } from '../../records/store/store.ts'
import {
  CarePlanResource,
  CarePlanSummary,
  GoalResource,
  GoalSummary,
} from '../../schemas/care-plan-resource.ts'
import { changeOf } from '../../schemas/change.ts'
import { Task } from '../../schemas/task.ts'
import { type Answer, answer } from '../answer/answer.ts'
import { fieldsOf } from '../answer/representation.ts'
import type { Operation } from '../operation/operation.ts'
import { listOfChanges, restoration } from '../operation/registered.ts'
import { goalAnswer, planAnswer, taskOf } from './care-plan-representation.ts'
import { inBoth, type Mount } from './mounts.ts'

const source = 'EHR data: who changed what, and the way back'

/** What has a history. */
interface Kind<W> {
  name: 'CarePlan' | 'Goal' | 'Task'
  what: string
  /** Below the EHR. */
  path: string
  former: TObject
  reply: TObject
  recordsOf(carePlans: CarePlans): {
    history(caller: Caller, key: Key, page: PageOf): Promise<Page<PastChange<object>>>
    restore(caller: Caller, key: Key, version: number, options: Writing): Promise<W>
  }
  answer(restored: W): Answer<Record<string, unknown>, { version: number }>
}

type Params = Record<string, string>

/** The last id of the path names the record, the others where it belongs. */
function keyOf({ ehrId = '', careplanId = '', goalId, taskId }: Params): Key {
  if (taskId !== undefined && goalId !== undefined)
    return { id: taskId, goalId, carePlanId: careplanId, ehrId }
  if (goalId !== undefined) return { id: goalId, carePlanId: careplanId, ehrId }
  return { id: careplanId, ehrId }
}

/** The names of what a client can see changed. */
const visible = (names: readonly string[]) => names.filter((name) => !name.startsWith('_'))

function historyOf<W>({ name, what, path, former, ...kind }: Kind<W>): ((mount: Mount) => Operation)[] {
  const about = { source, extra: true, one: `a ${what}` } as const
  const item = changeOf(name, what, former)
  return [
    ({ base, of }) =>
      listOfChanges({
        ...{ ...about, item, access: 'plan:read', namesForClients: visible },
        id: `list${of}${name}Changes`,
        path: `${base}/{ehrId}${path}/history`,
        read: (params, page, { caller, carePlans }) =>
          kind.recordsOf(carePlans).history(caller, keyOf(params as Params), page),
        represented: (before) => fieldsOf(former.properties, before),
      }),
    ({ base, of }) =>
      restoration({
        ...{ ...about, access: 'plan:write', reply: kind.reply },
        id: `restore${of}${name}`,
        path: `${base}/{ehrId}${path}/restore`,
        description: 'The status is not restored: what has been closed since stays closed.',
        restore: async (params, version, { caller, carePlans, expected }) =>
          kind.answer(
            await kind.recordsOf(carePlans).restore(caller, keyOf(params as Params), version, { expected }),
          ),
      }),
  ]
}

export const carePlanHistory = inBoth(
  ...historyOf({
    name: 'CarePlan',
    what: 'care plan',
    path: '/careplan/{careplanId}',
    former: CarePlanSummary,
    reply: CarePlanResource,
    recordsOf: (carePlans) => carePlans,
    answer: (plan) => planAnswer(plan),
  }),
  ...historyOf({
    name: 'Goal',
    what: 'goal',
    path: '/careplan/{careplanId}/goal/{goalId}',
    former: GoalSummary,
    reply: GoalResource,
    recordsOf: ({ goals }) => goals,
    answer: (goal) => goalAnswer(goal),
  }),
  ...historyOf({
    name: 'Task',
    what: 'task',
    path: '/careplan/{careplanId}/goal/{goalId}/task/{taskId}',
    former: Task.resource,
    reply: Task.resource,
    recordsOf: ({ tasks }) => tasks,
    answer: (task) => answer(taskOf(task), { version: task.version }),
  }),
)
