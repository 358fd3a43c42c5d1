import { defineChange } from '../../../schemas/change.ts'
import { Colleague, HandoverBody, HandoverResource } from '../../../schemas/worklist/handover.ts'
import { defineListOperation } from '../../operation/list-operation.ts'
import { defineOperation } from '../../operation/operation.ts'
import { replyWith } from '../../reply/reply.ts'

const common = {
  source: 'Events: a value that was too high or too low',
  extra: true,
  access: 'account',
} as const

const handoverPath = '/worklist/handover/{handoverId}'

const replyWithHandover = (handover: HandoverResource, location?: string) =>
  replyWith(handover, { version: handover.version, ...(location && { location }) })

export const handoverOperations = [
  defineListOperation({
    ...common,
    id: 'listHandovers',
    path: '/worklist/handover',
    summary: 'List the handovers of worklists by you and to you',
    description: 'The latest first, with those that have ended.',
    item: HandoverResource,
    handle: ({ page }, { caller, handovers }) => handovers.list(caller, page),
  }),
  defineOperation({
    ...common,
    id: 'handOverWorklist',
    method: 'post',
    path: '/worklist/handover',
    summary: 'Hand over your worklist to a colleague for a period',
    description:
      'In this period, alerts that would go to you go to the colleague, who may also take and resolve what you have ' +
      'taken. The colleague gets no rights by it: alerts of care plans that they may not write stay with you. At the end, ' +
      'alerts that nobody has taken go to you again.',
    body: HandoverBody,
    reply: [201, HandoverResource, 'versioned'],
    errors: ['RuleViolated'],
    handle: async ({ body }, { caller, handovers, newId }) => {
      const handover = await handovers.create(caller, body, newId())
      return replyWithHandover(handover, `/worklist/handover/${handover.id}`)
    },
  }),
  defineOperation({
    ...common,
    id: 'getHandover',
    method: 'get',
    path: handoverPath,
    summary: 'Get a handover',
    reply: [200, HandoverResource, 'versioned'],
    handle: async ({ params: { handoverId } }, { caller, handovers }) =>
      replyWithHandover(await handovers.get(caller, handoverId)),
  }),
  defineOperation({
    ...common,
    id: 'endHandover',
    method: 'post',
    path: `${handoverPath}/end`,
    summary: 'End a handover',
    description: 'Both sides can end it. Repeating the call changes nothing.',
    reply: [200, HandoverResource, 'versioned'],
    errors: ['PreconditionFailed'],
    handle: async ({ params: { handoverId } }, { caller, handovers, ifMatch }) =>
      replyWithHandover(await handovers.end(caller, handoverId, ifMatch)),
  }),
  defineListOperation({
    ...common,
    id: 'listHandoverChanges',
    path: `${handoverPath}/history`,
    summary: 'List the changes of a handover',
    description: 'Newest first.',
    item: defineChange('Handover', 'handover', HandoverResource),
    handle: ({ params: { handoverId }, page }, { caller, handovers }) =>
      handovers.history(caller, handoverId, page),
  }),
  defineListOperation({
    ...common,
    id: 'listColleagues',
    path: '/worklist/colleague',
    summary: 'List the colleagues to whom you can hand over your worklist',
    description:
      'Users who may write a care plan in which you take part, those with most of your care plans first.',
    item: Colleague,
    handle: ({ page }, { caller, handovers }) => handovers.listColleagues(caller, page),
  }),
]
