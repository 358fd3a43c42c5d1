import { ClosedGoal, ClosingWithContents, GoalResource } from '../../schemas/care-plan-resource.ts'
import { Goal } from '../../schemas/goal.ts'
import { operation } from '../operation/operation.ts'
import { requireSameId } from '../operation/parameters.ts'
import { answerWith, goalAnswer, goalOf, openOf } from './care-plan-representation.ts'
import { inBoth } from './mounts.ts'

const source = 'Endpoints, EHR data; Endpoints, Medical data; Class Goal'

interface GoalParams {
  ehrId: string
  careplanId: string
  goalId: string
}

const keyOf = ({ ehrId, careplanId, goalId }: GoalParams) => ({ id: goalId, ehrId, carePlanId: careplanId })

export const goals = [
  operation({
    id: 'getMedicalGoal',
    method: 'get',
    path: '/med/{ehrId}/careplan/{careplanId}/goal/{goalId}',
    summary: 'Show a goal with its tasks',
    source: 'Endpoints, Medical data',
    access: 'plan:read',
    reply: [200, GoalResource, 'versioned'],
    handle: async ({ params }, { caller, carePlans }) =>
      goalAnswer(await carePlans.goals.get(caller, keyOf(params))),
  }),
  ...inBoth(
    ({ base, of }) =>
      operation({
        id: `add${of}Goal`,
        kind: 'Goal',
        method: 'post',
        path: `${base}/{ehrId}/careplan/{careplanId}/goal`,
        summary: 'Add a goal to a care plan',
        description: 'A plan has at most 100 goals, and accepts none once it is closed.',
        source,
        access: 'plan:write',
        body: Goal.body,
        reply: [201, GoalResource, 'versioned'],
        errors: ['RuleViolated', 'Conflict'],
        handle: async ({ params: { ehrId, careplanId }, body }, { caller, carePlans, newId }) => {
          const place = { ehrId, carePlanId: careplanId }
          const goal = await carePlans.goals.create(caller, place, body, newId())
          const location = `${base}/${ehrId}/careplan/${careplanId}/goal/${goal.id}`
          return goalAnswer({ ...goal, tasks: [] }, location)
        },
      }),
    ({ base, of }) =>
      operation({
        id: `update${of}Goal`,
        method: 'put',
        path: `${base}/{ehrId}/careplan/{careplanId}/goal/{goalId}`,
        summary: 'Replace a goal; its tasks stay',
        source,
        access: 'plan:write',
        body: Goal.replacement,
        reply: [200, GoalResource, 'versioned'],
        errors: ['IdMismatch', 'RuleViolated'],
        handle: async ({ params, body: { id, ...body } }, { caller, carePlans, expected }) => {
          if (id !== undefined) requireSameId('id', id, params.goalId)
          return goalAnswer(await carePlans.goals.replace(caller, keyOf(params), body, { expected }))
        },
      }),
    ({ base, of }) =>
      operation({
        id: `close${of}Goal`,
        method: 'post',
        path: `${base}/{ehrId}/careplan/{careplanId}/goal/{goalId}/close`,
        summary: 'Close a goal',
        description: 'The answer lists the tasks that are still open; `closeOpen` closes them, too.',
        source: `${source}; States and transitions`,
        access: 'plan:write',
        body: ClosingWithContents,
        reply: [200, ClosedGoal, 'versioned'],
        errors: ['RuleViolated', 'PreconditionFailed'],
        handle: async ({ params, body }, { caller, carePlans, expected, again }) => {
          const goal = await carePlans.goals.close(caller, keyOf(params), body, { expected, again })
          return answerWith({ ...goalOf(goal), open: openOf([], goal.tasks) }, goal, goal.tasks)
        },
      }),
  ),
]
