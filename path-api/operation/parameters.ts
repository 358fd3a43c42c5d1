import { type TSchema, Type } from '@sinclair/typebox'

/** An identifier as it stands in a path: letters, digits, `_` and `-`; never anything a query could trip over. */
const id = (description: string, example: string) =>
  Type.String({ description, pattern: '^[A-Za-z0-9_-]{1,64}$', examples: [example] })

/** The path parameters that mean the same on every path; an operation overrides one in its own `params`. */
export const parameters: Readonly<Record<string, TSchema>> = {
  mvUid: id('User id', 'n4Fq2LxT0a'),
  connectionMvUid: id('User id of the other side of a connection', 'bW81kPzQ7e'),
  addressId: id('Address id', 'a2c9TfGh01'),
  contactId: id('Contact id', 'c7Yd3KqLmn'),
  relationId: Type.String({
    description: 'Relation id: its number, alone or after `party:relation:`',
    pattern: '^(party:relation:)?[0-9]{1,15}$',
    examples: ['123'],
  }),
  ehrId: id('EHR id', 'e5RtGb81Xz'),
  careplanId: id('Care plan id', 'p0LmNb72Qw'),
  ownerId: id('Id of the care plan that the participants belong to', 'p0LmNb72Qw'),
  goalId: id('Goal id', 'g3HjKl56Ty'),
  taskId: id('Task id', 't9VcXs40Re'),
  participationId: id('Participation id', 'r6PoIu29Mn'),
  diagnosisId: id('Diagnosis id', 'd1AsDf83Zx'),
  eventId: id('Event id', 'v4QwEr67Cv'),
  guidelineId: id('Care-plan template id', 'hypertension'),
}
