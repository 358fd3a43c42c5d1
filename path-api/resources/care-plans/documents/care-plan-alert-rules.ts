import { CarePlanAlertRules } from '../../../../schemas/events/alert-rules.ts'
import { definePlanDocumentOperations } from './plan-document.ts'

export const carePlanAlertRulesOperations = definePlanDocumentOperations({
  path: '/ehr/{ehrId}/careplan/{careplanId}/alert-rules',
  name: 'AlertRules',
  source: 'Events: a value that was too high or too low',
  extra: true,
  schema: CarePlanAlertRules,
  documentsOf: ({ alertRules }) => alertRules,
  saving: {
    method: 'put',
    description:
      'The rules apply to new alerts, and to those that nobody has taken. An alert that nobody takes goes to one user ' +
      'after the other, who gets a mail. An expected measurement that is missing raises an alert. A muted alert goes to ' +
      'nobody until the mute ends.',
    errors: ['RuleViolated', 'PreconditionFailed'],
  },
})
