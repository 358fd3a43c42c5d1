import {
  ClosedGoal,
  ClosingRequestWithContents,
  GoalResource,
} from '../../../schemas/care-plans/care-plan-resource.ts'
import { GoalForms } from '../../../schemas/care-plans/goal.ts'
import { defineOperation } from '../../operation/operation.ts'
import { requireSameId } from '../../operation/path-parameters.ts'
import { mountAtEhrAndMed } from '../prefixes.ts'
import { openItems, replyWithContents, replyWithGoal, toGoalResource } from './care-plan-representation.ts'

const goalSource = 'Endpoints, EHR data; Endpoints, Medical data; Class Goal'

interface GoalParams {
  ehrId: string
  careplanId: string
  goalId: string
}

const goalKeyOf = ({ ehrId, careplanId, goalId }: GoalParams) => ({
  id: goalId,
  ehrId,
  carePlanId: careplanId,
})

export const goalOperations = [
  defineOperation({
    id: 'getMedicalGoal',
    method: 'get',
    path: '/med/{ehrId}/careplan/{careplanId}/goal/{goalId}',
    summary: 'Get a goal with its tasks',
    source: 'Endpoints, Medical data',
    access: 'plan:read',
    reply: [200, GoalResource, 'versioned'],
    handle: async ({ params }, { caller, carePlans }) =>
      replyWithGoal(await carePlans.goals.get(caller, goalKeyOf(params))),
  }),
  ...mountAtEhrAndMed(
    ({ base, idInfix }) =>
      defineOperation({
        id: `add${idInfix}Goal`,
        kind: 'Goal',
        method: 'post',
        path: `${base}/{ehrId}/careplan/{careplanId}/goal`,
        summary: 'Create a goal of a care plan',
        description: 'A plan has at most 100 goals. A closed plan accepts no goals.',
        source: goalSource,
        access: 'plan:write',
        body: GoalForms.body,
        reply: [201, GoalResource, 'versioned'],
        errors: ['RuleViolated', 'Conflict'],
        handle: async ({ params: { ehrId, careplanId }, body }, { caller, carePlans, newId }) => {
          const parentIds = { ehrId, carePlanId: careplanId }
          const goal = await carePlans.goals.create(caller, parentIds, body, newId())
          // Only below /med there is a GET for one goal.
          const location = `/med/${ehrId}/careplan/${careplanId}/goal/${goal.id}`
          return replyWithGoal({ ...goal, tasks: [] }, location)
        },
      }),
    ({ base, idInfix }) =>
      defineOperation({
        id: `update${idInfix}Goal`,
        method: 'put',
        path: `${base}/{ehrId}/careplan/{careplanId}/goal/{goalId}`,
        summary: 'Replace a goal, but not its tasks',
        source: goalSource,
        access: 'plan:write',
        body: GoalForms.replacement,
        reply: [200, GoalResource, 'versioned'],
        errors: ['IdMismatch', 'RuleViolated'],
        readCurrent: async ({ params }, { caller, carePlans }) =>
          replyWithGoal(await carePlans.goals.get(caller, goalKeyOf(params))),
        handle: async ({ params, body: { id, ...body } }, { caller, carePlans, ifMatch }) => {
          requireSameId('id', id, params.goalId)
          return replyWithGoal(
            await carePlans.goals.replace(caller, goalKeyOf(params), body, { expected: ifMatch }),
          )
        },
      }),
    ({ base, idInfix }) =>
      defineOperation({
        id: `close${idInfix}Goal`,
        method: 'post',
        path: `${base}/{ehrId}/careplan/{careplanId}/goal/{goalId}/close`,
        summary: 'Close a goal',
        description: 'The response lists the tasks that are still open; `closeOpen` closes them, too.',
        source: `${goalSource}; States and transitions`,
        access: 'plan:write',
        body: ClosingRequestWithContents,
        reply: [200, ClosedGoal, 'versioned'],
        errors: ['RuleViolated', 'PreconditionFailed'],
        handle: async ({ params, body }, { caller, carePlans, ifMatch, isRetry }) => {
          const goal = await carePlans.goals.close(caller, goalKeyOf(params), body, {
            expected: ifMatch,
            isRetry,
          })
          return replyWithContents(
            { ...toGoalResource(goal), open: openItems([], goal.tasks) },
            goal,
            goal.tasks,
          )
        },
      }),
  ),
]
