import { AlertStep } from '../../../schemas/events/alert-handling.ts'
import { EventForms } from '../../../schemas/events/event.ts'
import { defineOperation } from '../../operation/operation.ts'
import { replyWith } from '../../reply/reply.ts'
import { toEvent } from './events.ts'

export const alertOperations = [
  defineOperation({
    id: 'handleAlert',
    method: 'post',
    path: '/ehr/{ehrId}/alert/{alertId}/handle',
    summary: 'Handle an alert',
    description:
      'An alert is an event of type `measurement-alert`. Everyone who may write its care plan can see, take, release and ' +
      'resolve it. Nobody can take or resolve what another user has taken; release it first. ' +
      'A step that you repeat changes nothing.',
    source: 'Events: a value that was too high or too low',
    extra: true,
    access: 'plan:write',
    body: AlertStep,
    reply: [200, EventForms.resource, 'versioned'],
    errors: ['RuleViolated', 'PreconditionFailed'],
    handle: async ({ params: { ehrId, alertId }, body }, { caller, events, ifMatch }) => {
      const alert = await events.handleAlert(caller, { id: alertId, ehrId }, body, { expected: ifMatch })
      return replyWith(toEvent(alert), { version: alert.version })
    },
  }),
]
