import { WorklistEntry } from '../../../schemas/worklist/worklist-entry.ts'
import { defineListOperation } from '../../operation/list-operation.ts'

export const worklistOperations = [
  defineListOperation({
    id: 'listWorklist',
    path: '/worklist',
    summary: 'List the patients who need action from you',
    description:
      'Returns the EHRs of others in which an alert, a task or a message waits, the worst and oldest alert first. ' +
      'Muted alerts, and alerts that somebody else has taken, do not count. It considers at most 1,000 alerts and 1,000 ' +
      'tasks, the most urgent ones, and the latest 200 chat topics.',
    source: 'Events: a value that was too high or too low',
    extra: true,
    access: 'user',
    item: WorklistEntry,
    handle: ({ page }, { caller, worklists }) => worklists.list(caller, page),
  }),
]
