import { type Static, type TProperties, type TSchema, Type } from '@sinclair/typebox'

/** What the schema says, or null. One keyword `type` and no union, so that one fault is one violation. */
export const nullable = <S extends TSchema>(schema: S) =>
  Type.Unsafe<Static<S> | null>({
    ...schema,
    ...(schema.type === undefined ? {} : { type: [schema.type, 'null'] }),
    ...(schema.enum === undefined ? {} : { enum: [...schema.enum, null] }),
  })

/** The properties as a body gives them: each may be left out. */
export const optional = <P extends TProperties>(properties: P) =>
  Type.Partial(Type.Object(properties)).properties

/** HTML, at most 10,000 characters; what is not harmless is removed before it is stored. */
export const html = (description: string) =>
  Type.String({
    maxLength: 10_000,
    contentMediaType: 'text/html',
    description,
    examples: ['<p>Prefers <b>mornings</b></p>'],
  })
