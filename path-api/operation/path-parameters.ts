import { type TSchema, Type } from '@sinclair/typebox'
import { ServiceError } from '../../schemas/errors.ts'

/** Schema of an id in a path: letters, digits, `_` and `-`, none of which is special in queries. */
export const createRecordIdSchema = (description: string, example: string) =>
  Type.String({ description, pattern: '^[A-Za-z0-9_-]{1,64}$', examples: [example] })

/** Path parameters with the same meaning on all paths; an operation may override one in `params`. */
export const pathParameters: Readonly<Record<string, TSchema>> = {
  mvUid: createRecordIdSchema('User id', 'n4Fq2LxT0a'),
  connectionMvUid: createRecordIdSchema('User id of the other user of a connection', 'bW81kPzQ7e'),
  addressId: createRecordIdSchema('Address id', 'a2c9TfGh01'),
  contactId: createRecordIdSchema('Contact id', 'c7Yd3KqLmn'),
  relationId: Type.String({
    description: 'Relation id: the number, with or without `party:relation:` before it',
    pattern: '^(party:relation:)?[0-9]{1,15}$',
    examples: ['123'],
  }),
  ehrId: createRecordIdSchema('EHR id', 'e5RtGb81Xz'),
  careplanId: createRecordIdSchema('Care plan id', 'p0LmNb72Qw'),
  ownerId: createRecordIdSchema('Id of the care plan that the participants belong to', 'p0LmNb72Qw'),
  goalId: createRecordIdSchema('Goal id', 'g3HjKl56Ty'),
  taskId: createRecordIdSchema('Task id', 't9VcXs40Re'),
  participationId: createRecordIdSchema('Participation id', 'r6PoIu29Mn'),
  alertId: createRecordIdSchema('Id of the alert, which is that of its measurement', 'v4QwEr67Cv'),
  handoverId: createRecordIdSchema('Handover id', 'n4Fq2LxT0a-a2c9TfGh01'),
  diagnosisId: createRecordIdSchema('Diagnosis id', 'd1AsDf83Zx'),
  guidelineId: createRecordIdSchema('Care-plan template id', 'hypertension'),
}

/** @throws IdMismatch when the body names another id than the path */
export function requireSameId(
  name: string,
  inBody: string | number | undefined,
  inPath: string | number,
): void {
  if (inBody === undefined || inBody === inPath) return
  throw new ServiceError('IdMismatch', {
    violations: [{ path: name, code: 'idMismatch', message: 'must be the one in the path' }],
  })
}
