import { type fromAcl, toAcl } from '../../../schemas/forms/class-form.ts'

/** The class form of an object, with its permissions. */
export type ClassForm = Record<string, unknown> & { ACL?: Parameters<typeof fromAcl>[0] }

/** Parse Server's schema of all classes. */
export interface ClassSchemas {
  getOneSchema(className: string): Promise<object>
  /** @throws Parse.Error for a caller to whom the class does not permit the operation */
  validatePermission(className: string, aclGroup: readonly string[], operation: string): Promise<void> | true
}

/** Parse Server's conversion of documents; it takes the permissions out of the given one. */
export interface DocumentConversion {
  mongoObjectToParseObject(
    className: string,
    document: object,
    schema: object,
  ): { _rperm: string[]; _wperm: string[]; [property: string]: unknown }
}

/** Converts a stored document to the class form, with its permissions as ACL. */
export async function toClassObject(
  conversion: DocumentConversion,
  classes: ClassSchemas,
  className: string,
  document: object,
): Promise<ClassForm> {
  const schema = await classes.getOneSchema(className)
  // Requests that share a transaction may share the document.
  const object = conversion.mongoObjectToParseObject(className, { ...document }, schema)
  const { _rperm, _wperm, ...properties } = object
  return { ...properties, ACL: toAcl({ read: _rperm, write: _wperm }) }
}
