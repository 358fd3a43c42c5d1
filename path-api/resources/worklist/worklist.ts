import { isToldToParticipant } from '../../../records/care-plans/participants/participants.ts'
import type { RecordChange } from '../../../records/history/changes.ts'
import { concernsWorklist, isWorklistChange } from '../../../records/worklist/worklist-changes.ts'
import { WorklistChangeEvent } from '../../../schemas/live/change-events.ts'
import { PatientCard } from '../../../schemas/worklist/patient-card.ts'
import { WorklistEntry, worklistFilterFields } from '../../../schemas/worklist/worklist-entry.ts'
import { WorklistViews } from '../../../schemas/worklist/worklist-views.ts'
import { defineListOperation } from '../../operation/list-operation.ts'
import { defineOperation } from '../../operation/operation.ts'
import { EventStreamBody } from '../../reply/event-stream.ts'
import { replyWith } from '../../reply/reply.ts'
import { describeStream, streamChanges, streamQuery, toChangeEvent } from '../live/change-streams.ts'

const common = { source: 'Events: a value that was too high or too low', extra: true } as const

export const worklistOperations = [
  defineListOperation({
    ...common,
    id: 'listWorklist',
    path: '/worklist',
    summary: 'List the patients who need action from you',
    description:
      'Returns the EHRs of others in which an alert, a task or a message waits, the worst and oldest alert first. ' +
      'Muted alerts, and alerts that somebody else has taken, do not count. It considers at most 1,000 alerts and 1,000 ' +
      'tasks, the most urgent ones, and the latest 200 chat topics.',
    access: 'account',
    query: worklistFilterFields,
    item: WorklistEntry,
    handle: ({ query, page }, { caller, worklists }) => worklists.list(caller, query, page),
  }),
  defineOperation({
    ...common,
    id: 'followWorklist',
    method: 'get',
    path: '/worklist/changes',
    summary: 'Follow the changes that concern your worklist',
    description: describeStream(
      'change of an alert, a task, a message or a participant that you may read, of your handovers, and for each care plan of yours that was deleted or returned',
    ),
    access: 'account',
    query: streamQuery,
    resumes: true,
    reply: [200, new EventStreamBody(WorklistChangeEvent)],
    errors: ['TooManyRequests'],
    handle: ({ query }, context) =>
      streamChanges(
        context,
        {
          concerns: concernsWorklist,
          includes: isWorklistChange,
          isTold: isToldToParticipant,
          isReachable: async () => true,
        },
        query,
        (change: RecordChange) => ({ ...toChangeEvent(change), ehrId: change.ehrId }),
      ),
  }),
  defineOperation({
    ...common,
    id: 'getWorklistViews',
    method: 'get',
    path: '/worklist/views',
    summary: 'Get your views of the worklist',
    description: 'Returns version 0 if you have not saved any.',
    access: 'account',
    reply: [200, WorklistViews, 'versioned'],
    handle: async (_, { caller, worklistViews }) => {
      const { views, version } = await worklistViews.get(caller)
      return replyWith({ views }, { version })
    },
  }),
  defineOperation({
    ...common,
    id: 'saveWorklistViews',
    method: 'put',
    path: '/worklist/views',
    summary: 'Replace your views of the worklist',
    description: 'A view is a filter under a name. Each user has views of their own, at most 20.',
    access: 'account',
    body: WorklistViews,
    limits: { bytes: 64 * 1024 },
    reply: [200, WorklistViews, 'versioned'],
    errors: ['PreconditionFailed'],
    handle: async ({ body }, { caller, worklistViews, ifMatch }) => {
      const { views, version } = await worklistViews.save(caller, body, ifMatch)
      return replyWith({ views }, { version })
    },
  }),
  defineOperation({
    ...common,
    id: 'getPatientCard',
    method: 'get',
    path: '/ehr/{ehrId}/patient',
    summary: 'Get the subject of an EHR',
    description:
      'Participants of a care plan see the name and the date of birth, unless all their plans in the EHR are anonymous. ' +
      'Nobody sees those of a user who has not accepted the EHR.',
    access: 'ehr:read',
    reply: [200, PatientCard],
    handle: ({ params: { ehrId } }, { caller, patients }) => patients.get(caller, ehrId),
  }),
]
