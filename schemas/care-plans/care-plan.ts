import { type Static, Type } from '@sinclair/typebox'
import { longTextField, shortTextField } from '../common.ts'
import { StatusEnum } from '../enums.ts'
import { closingField, dateField, fixedField, statusField } from '../forms/fields.ts'
import { defineForms } from '../forms/forms.ts'

export const CarePlanForms = defineForms({
  name: 'CarePlan',
  noun: 'care plan',
  description: 'A care plan of an EHR; measurements and events can be registered in it',
  parentType: 'EHR',
  example: 'p0LmNb72Qw',
  fields: {
    name: shortTextField('Name of the plan', 'Lower blood pressure'),
    language: fixedField(
      Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 35,
          format: 'line',
          description: 'Language, preferably as ISO 639-1 code',
          examples: ['en'],
        }),
      ),
    ),
    description: Type.Optional(longTextField('Description of the plan', 'Below 140/90 by the summer')),
    anonymous: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'True to hide the subject of the EHR from the participants',
      }),
    ),
    proposedStartDate: Type.Optional(dateField('Planned start date')),
    actualStartDate: Type.Optional(dateField('Actual start date')),
    dueDate: Type.Optional(dateField('Due date of the plan')),
    notes: Type.Optional(longTextField('Notes on the plan', 'Measures at home')),
    achievementDate: closingField(Type.Optional(dateField('Actual end date'))),
    outcome: closingField(Type.Optional(longTextField('Outcome of the plan', '128/82 on average'))),
    status: statusField(StatusEnum),
  },
})

export type CarePlanBody = Static<typeof CarePlanForms.body>
export type CarePlanReplacement = Static<typeof CarePlanForms.replacement>
