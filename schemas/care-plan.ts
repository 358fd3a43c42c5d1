import { type Static, Type } from '@sinclair/typebox'
import { line, text } from './common.ts'
import { StatusEnum } from './enum.ts'
import { closing, date, fixed, status } from './forms/fields.ts'
import { forms } from './forms/forms.ts'

export const CarePlan = forms({
  name: 'CarePlan',
  noun: 'care plan',
  description: 'A care plan of an EHR; data is registered in its context',
  registeredIn: 'EHR',
  example: 'p0LmNb72Qw',
  fields: {
    name: line('Name of the plan', 'Lower blood pressure'),
    language: fixed(
      Type.Optional(
        Type.String({ minLength: 1, maxLength: 35, description: 'Preferably ISO 639-1', examples: ['en'] }),
      ),
    ),
    description: Type.Optional(text('What the plan is about', 'Below 140/90 by the summer')),
    anonymous: Type.Optional(
      Type.Boolean({ default: false, description: 'Whether the person stays unnamed' }),
    ),
    proposedStartDate: Type.Optional(date('When the plan should start')),
    actualStartDate: Type.Optional(date('When the plan started')),
    dueDate: Type.Optional(date('When the plan should expire')),
    notes: Type.Optional(text('Notes on the plan', 'Measures at home')),
    achievementDate: closing(Type.Optional(date('Actual end date'))),
    outcome: closing(Type.Optional(text('Outcome of the plan', '128/82 on average'))),
    status: status(StatusEnum),
  },
})

export type CarePlanBody = Static<typeof CarePlan.body>
export type CarePlanReplacement = Static<typeof CarePlan.replacement>
