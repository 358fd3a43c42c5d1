import { type Static, type TProperties, type TSchema, Type } from '@sinclair/typebox'

/**
 * Makes a schema nullable. It extends the keyword `type` instead of using a union, so that one fault is one
 * violation.
 */
export const nullable = <S extends TSchema>(schema: S) =>
  Type.Unsafe<Static<S> | null>({
    ...schema,
    ...(schema.type === undefined ? {} : { type: [schema.type, 'null'] }),
    ...(schema.enum === undefined ? {} : { enum: [...schema.enum, null] }),
  })

/** Makes all properties optional. */
export const optionalFields = <P extends TProperties>(properties: P) =>
  Type.Partial(Type.Object(properties)).properties

/** HTML, at most 10,000 characters. Unsafe parts are removed before storage. */
export const htmlField = (description: string) =>
  Type.String({
    maxLength: 10_000,
    contentMediaType: 'text/html',
    description,
    examples: ['<p>Prefers <b>mornings</b></p>'],
  })
