import { type Static, Type } from '@sinclair/typebox'
import { line, text } from './common.ts'
import { PeriodEnum, PriorityEnum, StatusEnum } from './enum.ts'
import { closing, date, status } from './forms/fields.ts'
import { forms } from './forms/forms.ts'

const repeat = Type.Object(
  {
    every: Type.Integer({ minimum: 1, maximum: 366, description: 'Periods between two repetitions' }),
    period: PeriodEnum,
  },
  { additionalProperties: false, description: 'How often it is to be done, until the task is closed' },
)

/** A plan may hold 10,000 tasks, and is read as a whole: their texts are short. */
const ofTask = (description: string, example: string) => text(description, example, 1000)

export const Task = forms({
  name: 'Task',
  noun: 'task',
  description: 'A task of a goal',
  registeredIn: 'goal',
  example: 't6YhNm34Rs',
  fields: {
    name: line('What is to be done', 'Measure blood pressure'),
    dueDate: Type.Optional(date('When it should be done')),
    description: Type.Optional(ofTask('How it is to be done', 'Sitting, after five minutes of rest')),
    assignee: Type.Optional(line('Who should do it: a user id, or another person reference', 'n4Fq2LxT0a')),
    priority: Type.Optional(PriorityEnum),
    repeat: Type.Optional(repeat),
    notes: Type.Optional(ofTask('Notes on the task', 'Left arm')),
    achievementDate: closing(Type.Optional(date('Actual end date'))),
    outcome: closing(Type.Optional(ofTask('Outcome of the task', 'Done for a week'))),
    status: status(StatusEnum),
  },
})

export type TaskReplacement = Static<typeof Task.replacement>
export type TaskBody = Static<typeof Task.body>
