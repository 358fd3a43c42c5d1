import { type Static, Type } from '@sinclair/typebox'
import { closedObject, idField, shortTextField } from '../common.ts'
import { AccessEnum, ParticipationStatusEnum } from '../enums.ts'
import { nullable } from '../forms/nullable.ts'

const participantIdField = Type.String({
  pattern: '^[A-Za-z0-9_-]{1,64}$',
  description: 'User id of the participant',
  examples: ['bW81kPzQ7e'],
})

const participationTimeField = (description: string, example: string) =>
  Type.String({ format: 'date-time', description, examples: [example] })

const participationFields = {
  role: Type.Optional(shortTextField('Role of the participant in the plan', 'Diabetes nurse')),
  access: AccessEnum,
  start: participationTimeField('Start of the access', '2026-03-01T08:00:00Z'),
  end: Type.Optional(
    participationTimeField('End of the access; without one the access does not end', '2026-09-01T08:00:00Z'),
  ),
}

/** Stored form of a participation. */
export const participationRecord = Type.Object({
  ehrId: Type.String(),
  carePlanId: Type.String(),
  mvUid: participantIdField,
  ...participationFields,
  status: ParticipationStatusEnum,
  /** Next time at which access starts or ends by itself. */
  changesAt: Type.Optional(Type.String({ format: 'date-time' })),
})

export const ParticipationResource = closedObject(
  'ParticipationResource',
  'Participation of a user in a care plan',
  {
    participationId: { ...idField('the participation'), examples: ['r6PoIu29Mn'] },
    mvUid: participantIdField,
    name: nullable(
      Type.String({
        description:
          'Name of the participant, for those who manage the plan. Null if there is none, for others, and in anonymous care plans',
        examples: ['Nurse Bo'],
      }),
    ),
    ...participationFields,
    role: nullable(participationFields.role),
    end: nullable(participationFields.end),
    status: ParticipationStatusEnum,
    version: Type.Integer({
      minimum: 1,
      description: 'Version number, incremented by every write; the ETag is this number in quotes',
    }),
  },
)
export type ParticipationResource = Static<typeof ParticipationResource>

const participationBodyFields = {
  role: Type.Optional(nullable(participationFields.role)),
  access: AccessEnum,
  start: Type.Optional({
    ...participationFields.start,
    description: 'Start of the access; default: now',
  }),
  end: Type.Optional(nullable(participationFields.end)),
}

export const ParticipationBody = closedObject('ParticipationBody', 'A new participant', {
  mvUid: participantIdField,
  ...participationBodyFields,
})
export type ParticipationBody = Static<typeof ParticipationBody>

export const ParticipationReplacement = closedObject(
  'ParticipationReplacement',
  'A complete participation; omitted optional fields are removed',
  {
    ...participationBodyFields,
    start: Type.Optional({
      ...participationFields.start,
      description: 'Start of the access; if omitted, it stays unchanged',
    }),
    participationId: Type.Optional(ParticipationResource.properties.participationId),
    mvUid: Type.Optional({
      ...participantIdField,
      description: 'User id of the participant; must not change',
    }),
  },
)
export type ParticipationReplacement = Static<typeof ParticipationReplacement>
