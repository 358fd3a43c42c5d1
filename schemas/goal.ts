import { type Static, Type } from '@sinclair/typebox'
import { line, text } from './common.ts'
import { StatusEnum } from './enum.ts'
import { closing, date, status } from './forms/fields.ts'
import { forms } from './forms/forms.ts'

export const Goal = forms({
  name: 'Goal',
  noun: 'goal',
  description: 'A goal of a care plan',
  registeredIn: 'plan',
  example: 'g3HjKl56Ty',
  fields: {
    name: line('Name of the goal', 'Walk every day'),
    dueDate: Type.Optional(date('When the goal should be reached')),
    description: Type.Optional(text('What is to be reached', 'Half an hour, five days a week')),
    notes: Type.Optional(text('Notes on the goal', 'With the dog')),
    achievementDate: closing(Type.Optional(date('Actual end date'))),
    outcome: closing(Type.Optional(text('Outcome of the goal', 'Four days a week'))),
    status: status(StatusEnum),
  },
})

export type GoalReplacement = Static<typeof Goal.replacement>
export type GoalBody = Static<typeof Goal.body>
