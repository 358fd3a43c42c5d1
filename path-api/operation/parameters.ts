import { type TSchema, Type } from '@sinclair/typebox'
import { ServiceError } from '../../schemas/errors.ts'

/** An identifier as it stands in a path: letters, digits, `_` and `-`; never anything a query could trip over. */
export const recordId = (description: string, example: string) =>
  Type.String({ description, pattern: '^[A-Za-z0-9_-]{1,64}$', examples: [example] })

/** The path parameters that mean the same on every path; an operation overrides one in its own `params`. */
export const parameters: Readonly<Record<string, TSchema>> = {
  mvUid: recordId('User id', 'n4Fq2LxT0a'),
  connectionMvUid: recordId('User id of the other side of a connection', 'bW81kPzQ7e'),
  addressId: recordId('Address id', 'a2c9TfGh01'),
  contactId: recordId('Contact id', 'c7Yd3KqLmn'),
  relationId: Type.String({
    description: 'Relation id: its number, alone or after `party:relation:`',
    pattern: '^(party:relation:)?[0-9]{1,15}$',
    examples: ['123'],
  }),
  ehrId: recordId('EHR id', 'e5RtGb81Xz'),
  careplanId: recordId('Care plan id', 'p0LmNb72Qw'),
  ownerId: recordId('Id of the care plan that the participants belong to', 'p0LmNb72Qw'),
  goalId: recordId('Goal id', 'g3HjKl56Ty'),
  taskId: recordId('Task id', 't9VcXs40Re'),
  participationId: recordId('Participation id', 'r6PoIu29Mn'),
  diagnosisId: recordId('Diagnosis id', 'd1AsDf83Zx'),
  guidelineId: recordId('Care-plan template id', 'hypertension'),
}

/** @throws IdMismatch when an id in the body is not the one in the path */
export function requireSameId(name: string, inBody: string | number, inPath: string | number): void {
  if (inBody === inPath) return
  throw new ServiceError('IdMismatch', {
    violations: [{ path: name, code: 'idMismatch', message: 'must be the one in the path' }],
  })
}
