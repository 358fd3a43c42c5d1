import { type Static, Type } from '@sinclair/typebox'
import { closed, id, KEPT, kept, line, moment, text } from './common.ts'
import { ClosingStatusEnum, PeriodEnum, PriorityEnum, StatusEnum } from './enum.ts'

const repeat = Type.Object(
  {
    every: Type.Integer({ minimum: 1, maximum: 366, description: 'Periods between two repetitions' }),
    period: PeriodEnum,
  },
  { additionalProperties: false, description: 'How often it is to be done, until the task is closed' },
)

/** A plan may hold 10,000 tasks, and is read as a whole: their texts are short. */
const ofTask = (description: string, example: string) => text(description, example, 1000)

export const Task = closed('Task', 'A task of a goal', {
  ...kept,
  ehrId: id('the EHR', 'e5RtGb81Xz'),
  carePlanId: id('the care plan', 'p0LmNb72Qw'),
  goalId: id('the goal that it serves', 'g3HjKl56Ty'),
  name: line('What is to be done', 'Measure blood pressure'),
  dueDate: Type.Optional(moment('When it should be done')),
  description: Type.Optional(ofTask('How it is to be done', 'Sitting, after five minutes of rest')),
  assignee: Type.Optional(line('Who is to do it: a user id, or another person reference', 'n4Fq2LxT0a')),
  priority: Type.Optional(PriorityEnum),
  repeat: Type.Optional(repeat),
  notes: Type.Optional(ofTask('Notes on the task', 'Left arm')),
  achievementDate: Type.Optional(moment('Actual end date')),
  outcome: Type.Optional(ofTask('What came of the task', 'Done for a week')),
  status: StatusEnum,
})
export type Task = Static<typeof Task>

export const TaskCreate = Type.Omit(Task, [...KEPT, 'achievementDate', 'outcome', 'status'], {
  $id: 'TaskCreate',
})

export const TaskUpdate = Type.Composite(
  [
    Type.Partial(Type.Omit(Task, [...KEPT, 'ehrId', 'carePlanId', 'goalId', 'status'])),
    Type.Object({ status: Type.Optional(ClosingStatusEnum) }),
  ],
  { $id: 'TaskUpdate', description: 'What may change in a task', additionalProperties: false },
)
