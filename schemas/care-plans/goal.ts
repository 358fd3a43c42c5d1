import { type Static, Type } from '@sinclair/typebox'
import { longTextField, shortTextField } from '../common.ts'
import { StatusEnum } from '../enums.ts'
import { closingField, dateField, statusField } from '../forms/fields.ts'
import { defineForms } from '../forms/forms.ts'

export const GoalForms = defineForms({
  name: 'Goal',
  noun: 'goal',
  description: 'A goal of a care plan',
  parentType: 'plan',
  example: 'g3HjKl56Ty',
  fields: {
    name: shortTextField('Name of the goal', 'Walk every day'),
    dueDate: Type.Optional(dateField('Due date of the goal')),
    description: Type.Optional(longTextField('Description of the goal', 'Half an hour, five days a week')),
    notes: Type.Optional(longTextField('Notes on the goal', 'With the dog')),
    achievementDate: closingField(Type.Optional(dateField('Actual end date'))),
    outcome: closingField(Type.Optional(longTextField('Outcome of the goal', 'Four days a week'))),
    status: statusField(StatusEnum),
  },
})

export type GoalReplacement = Static<typeof GoalForms.replacement>
export type GoalBody = Static<typeof GoalForms.body>
