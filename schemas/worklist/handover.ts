import { type Static, Type } from '@sinclair/typebox'
import { closedObject, idField, shortTextField } from '../common.ts'
import { dateTimeField } from '../forms/fields.ts'
import { nullable } from '../forms/nullable.ts'

const toField = { ...idField('the colleague who takes over'), examples: ['bW81kPzQ7e'] }
const untilField = dateTimeField('End', '2026-03-14T07:00:00Z')
const reasonField = Type.Optional(shortTextField('Reason', 'On holiday'))
const userNameField = nullable(
  Type.String({
    description: 'Name of that user; null if there is none, or if you share only anonymous care plans',
    examples: ['Nurse Bo'],
  }),
)

/** Stored fields of a handover. */
export const handoverRecord = Type.Object({
  by: Type.String(),
  to: Type.String(),
  from: dateTimeField('Begin'),
  until: dateTimeField('End'),
  reason: reasonField,
  /** Time of the next change of the alerts; absent after the end. */
  changesAt: Type.Optional(dateTimeField('Time at which alerts change hands')),
})

export const HandoverBody = {
  ...closedObject('HandoverBody', 'Handing your worklist over to a colleague', {
    to: toField,
    from: Type.Optional(dateTimeField('Begin; default now')),
    until: untilField,
    reason: reasonField,
  }),
  examples: [{ to: 'bW81kPzQ7e', until: '2026-03-14T07:00:00Z', reason: 'On holiday' }],
}
export type HandoverBody = Static<typeof HandoverBody>

export const HandoverResource = closedObject(
  'HandoverResource',
  'A worklist that its owner has handed over',
  {
    id: idField('the handover', 'n4Fq2LxT0a-a2c9TfGh01'),
    by: { ...idField('the user who hands over'), examples: ['n4Fq2LxT0a'] },
    byName: userNameField,
    to: toField,
    toName: userNameField,
    from: dateTimeField('Begin'),
    until: untilField,
    reason: nullable(shortTextField('Reason', 'On holiday')),
    version: Type.Integer({ minimum: 1, description: 'Version number, incremented by every write' }),
  },
)
export type HandoverResource = Static<typeof HandoverResource>

export const EndHandoverParams = closedObject('EndHandoverParams', 'End a handover', {
  handoverId: idField('the handover', 'n4Fq2LxT0a-a2c9TfGh01'),
  version: Type.Optional(
    Type.Integer({
      minimum: 1,
      examples: [1],
      description: 'Version that you have read; the error is 412 if the handover has changed since',
    }),
  ),
})

export const Colleague = closedObject('Colleague', 'A user to whom you can hand over your worklist', {
  mvUid: toField,
  name: userNameField,
  carePlans: Type.Integer({
    minimum: 1,
    examples: [4],
    description: 'Number of your care plans that this user may write, too',
  }),
  ofCarePlans: Type.Integer({
    minimum: 1,
    examples: [5],
    description: 'Number of all care plans in which you take part and that you may write',
  }),
})
export type Colleague = Static<typeof Colleague>

export const Colleagues = closedObject('Colleagues', 'The users to whom you can hand over your worklist', {
  items: Type.Array(Colleague, { description: 'Users, those with most of your care plans first' }),
})

export const HandoverListParams = closedObject('HandoverListParams', 'List handovers', {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1000, description: 'Maximum number of handovers', examples: [100] }),
  ),
  cursor: Type.Optional(
    Type.String({
      maxLength: 1000,
      pattern: '^[A-Za-z0-9_-]+$',
      description: 'Cursor: `next` of the previous result',
    }),
  ),
})

export const HandoverList = closedObject('HandoverList', 'A page of handovers', {
  items: Type.Array(HandoverResource, { description: 'Handovers, the latest first' }),
  next: nullable(Type.String({ description: 'Cursor of the next page; null on the last page' })),
})

export const NoParams = closedObject('NoParams', 'No parameters', {})
