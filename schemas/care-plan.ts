import { type Static, Type } from '@sinclair/typebox'
import { closed, id, KEPT, kept, line, moment, text } from './common.ts'
import { ClosingStatusEnum, StatusEnum } from './enum.ts'

export const CarePlan = closed('CarePlan', 'A care plan of an EHR; data is registered in its context', {
  ...kept,
  ehrId: id('the EHR', 'e5RtGb81Xz'),
  name: line('Name of the plan', 'Lower blood pressure'),
  language: Type.Optional(
    Type.String({ minLength: 1, maxLength: 35, description: 'Preferably ISO 639-1', examples: ['en'] }),
  ),
  description: Type.Optional(text('What the plan is about', 'Below 140/90 by the summer')),
  anonymous: Type.Optional(Type.Boolean({ default: false, description: 'Whether the person stays unnamed' })),
  proposedStartDate: Type.Optional(moment('When the plan should start')),
  actualStartDate: Type.Optional(moment('When the plan started')),
  dueDate: Type.Optional(moment('When the plan should expire')),
  notes: Type.Optional(text('Notes on the plan', 'Measures at home')),
  achievementDate: Type.Optional(moment('Actual end date')),
  outcome: Type.Optional(text('What came of the plan', '128/82 on average')),
  status: StatusEnum,
})
export type CarePlan = Static<typeof CarePlan>

export const CarePlanCreate = Type.Omit(CarePlan, [...KEPT, 'achievementDate', 'outcome', 'status'], {
  $id: 'CarePlanCreate',
})

export const CarePlanUpdate = Type.Composite(
  [
    Type.Partial(Type.Omit(CarePlan, [...KEPT, 'ehrId', 'language', 'status'])),
    Type.Object({ status: Type.Optional(ClosingStatusEnum) }),
  ],
  { $id: 'CarePlanUpdate', description: 'What may change in a care plan', additionalProperties: false },
)
