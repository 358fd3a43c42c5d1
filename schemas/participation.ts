import { type Static, Type } from '@sinclair/typebox'
import { closed, id, line } from './common.ts'
import { AccessEnum, ParticipationStatusEnum } from './enum.ts'
import { nullable } from './nullable.ts'

const mvUid = Type.String({
  pattern: '^[A-Za-z0-9_-]{1,64}$',
  description: 'User id of the participant',
  examples: ['bW81kPzQ7e'],
})

const moment = (description: string, example: string) =>
  Type.String({ format: 'date-time', description, examples: [example] })

const fields = {
  role: Type.Optional(line('The role of the participant in the plan', 'Diabetes nurse')),
  access: AccessEnum,
  start: moment('When access begins', '2026-03-01T08:00:00Z'),
  end: Type.Optional(moment('When access ends; never when it is not set', '2026-09-01T08:00:00Z')),
}

/** What is kept of a participation. */
export const participation = Type.Object({
  ehrId: Type.String(),
  carePlanId: Type.String(),
  mvUid,
  ...fields,
  status: ParticipationStatusEnum,
  /** The next moment at which access begins or ends by itself. */
  changesAt: Type.Optional(Type.String({ format: 'date-time' })),
})

export const ParticipationResource = closed('ParticipationResource', 'Somebody’s part in a care plan', {
  participationId: { ...id('the participation'), examples: ['r6PoIu29Mn'] },
  mvUid,
  ...fields,
  role: nullable(fields.role),
  end: nullable(fields.end),
  status: ParticipationStatusEnum,
  version: Type.Integer({ minimum: 1, description: 'Counts the writes; in quotes it is the ETag' }),
})
export type ParticipationResource = Static<typeof ParticipationResource>

const body = {
  role: Type.Optional(nullable(fields.role)),
  access: AccessEnum,
  start: Type.Optional({ ...fields.start, description: 'When access begins; by default at once' }),
  end: Type.Optional(nullable(fields.end)),
}

export const ParticipationBody = closed('ParticipationBody', 'A new participant', { mvUid, ...body })
export type ParticipationBody = Static<typeof ParticipationBody>

export const ParticipationReplacement = closed(
  'ParticipationReplacement',
  'A complete participation: what is left out is removed',
  {
    ...body,
    start: Type.Optional({ ...fields.start, description: 'When access begins; left out, it stays' }),
    participationId: Type.Optional(ParticipationResource.properties.participationId),
    mvUid: Type.Optional({ ...mvUid, description: 'The participant, who cannot be replaced' }),
  },
)
export type ParticipationReplacement = Static<typeof ParticipationReplacement>
