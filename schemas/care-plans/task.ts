import { type Static, Type } from '@sinclair/typebox'
import { longTextField, shortTextField } from '../common.ts'
import { PeriodEnum, PriorityEnum, StatusEnum } from '../enums.ts'
import { closingField, dateField, statusField } from '../forms/fields.ts'
import { defineForms } from '../forms/forms.ts'

const repeatField = Type.Object(
  {
    every: Type.Integer({
      minimum: 1,
      maximum: 366,
      description: 'Number of periods between two repetitions',
    }),
    period: PeriodEnum,
  },
  { additionalProperties: false, description: 'Repetition interval, which applies until the task is closed' },
)

/** Task texts are short, because a plan may have 10,000 tasks and is read as a whole. */
const taskTextField = (description: string, example: string) => longTextField(description, example, 1000)

export const TaskForms = defineForms({
  name: 'Task',
  noun: 'task',
  description: 'A task of a goal',
  parentType: 'goal',
  example: 't6YhNm34Rs',
  fields: {
    name: shortTextField('Name of the task', 'Measure blood pressure'),
    dueDate: Type.Optional(dateField('Due date of the task')),
    description: Type.Optional(
      taskTextField('Instructions for the task', 'Sitting, after five minutes of rest'),
    ),
    assignee: Type.Optional(
      shortTextField('Assignee: a user id or another reference to a person', 'n4Fq2LxT0a'),
    ),
    priority: Type.Optional(PriorityEnum),
    repeat: Type.Optional(repeatField),
    notes: Type.Optional(taskTextField('Notes on the task', 'Left arm')),
    achievementDate: closingField(Type.Optional(dateField('Actual end date'))),
    outcome: closingField(Type.Optional(taskTextField('Outcome of the task', 'Done for a week'))),
    status: statusField(StatusEnum),
  },
})

export type TaskReplacement = Static<typeof TaskForms.replacement>
export type TaskBody = Static<typeof TaskForms.body>
