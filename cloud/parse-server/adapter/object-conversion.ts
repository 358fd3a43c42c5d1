import { type fromAcl, toAcl } from '../../../schemas/forms/class-form.ts'

/** An object as Parse Server reads it. */
interface StoredObject {
  _rperm: string[]
  _wperm: string[]
  [property: string]: unknown
}

/** The class form of an object, with its permissions. */
export type ClassForm = Record<string, unknown> & { ACL?: Parameters<typeof fromAcl>[0] }

/** Parse Server's conversion of documents; it takes the permissions out of the given one. */
export interface DocumentConversion {
  mongoObjectToParseObject(className: string, document: object, schema: unknown): StoredObject
}

/** Converts a stored object to the class form, with its permissions as ACL. */
export const toClientJson = ({ _rperm, _wperm, ...properties }: StoredObject): ClassForm => ({
  ...properties,
  ACL: toAcl({ read: _rperm, write: _wperm }),
})
