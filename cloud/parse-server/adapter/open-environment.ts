import Parse from 'parse/node'

/** A type of Parse: by its name, or with further properties. */
type FieldType = string | { type: string }

/** Parse Server's schema, which binds each field to the type of its first value. */
export interface FieldTypes {
  getExpectedType(className: string, fieldName: string): FieldType | undefined
  enforceFieldExists(
    className: string,
    fieldName: string,
    type: FieldType | undefined,
    ...more: unknown[]
  ): unknown
}

/** Types with a stored form of their own. */
const CONVERTED_TYPES = new Set(['Pointer', 'Relation', 'GeoPoint', 'Polygon', 'Bytes', 'File'])

const isStoredAsSent = (type: FieldType | undefined): boolean =>
  type !== undefined && !CONVERTED_TYPES.has(typeof type === 'string' ? type : type.type)

/** Parse Server's functions for objects. */
type RestFunction = (
  config: unknown,
  auth: unknown,
  className: string,
  ...more: unknown[]
) => Promise<unknown>

interface ParseParts {
  adapter: { findOneAndUpdate(className: string, ...more: unknown[]): Promise<unknown> }
  rest: Record<'create' | 'update' | 'get', RestFunction>
  fieldTypes: FieldTypes
}

/** Lets Parse Server validate no data there, write objects itself, and answer in full, as the main service does. */
export function adaptToOpenEnvironment({ adapter, rest, fieldTypes }: ParseParts): void {
  acceptAnyType(fieldTypes)
  explainTypeErrors(adapter)
  respondInFull(rest)
}

/** Lets a field have values of several types. */
function acceptAnyType(types: FieldTypes): void {
  const { enforceFieldExists } = types
  types.enforceFieldExists = function (className, fieldName, type, ...more) {
    const expectedType = this.getExpectedType(className, fieldName)
    if (isStoredAsSent(expectedType) && isStoredAsSent(type)) return undefined
    return enforceFieldExists.call(this, className, fieldName, type, ...more)
  }
}

/** MongoDB's errors for an operation on a value of another type. */
const TYPE_ERROR_CODES = new Set<unknown>([2, 14, 28])

function explainTypeErrors(adapter: ParseParts['adapter']): void {
  const { findOneAndUpdate } = adapter
  adapter.findOneAndUpdate = function (className, ...more) {
    return findOneAndUpdate.call(this, className, ...more).catch((error: unknown) => {
      if (!TYPE_ERROR_CODES.has((error as { code?: unknown } | null)?.code)) throw error
      const why = 'The stored property has another type than the operation.'
      throw new Parse.Error(Parse.Error.INCORRECT_TYPE, why)
    })
  }
}

/** Reads a written object for the response, which otherwise has only the fields that Parse Server changed. */
function respondInFull(rest: ParseParts['rest']): void {
  for (const name of ['create', 'update'] as const) {
    const write = rest[name]
    rest[name] = async (config, auth, className, ...more) => {
      const result = (await write(config, auth, className, ...more)) as { response: { objectId: string } }
      if (className.startsWith('_')) return result
      const { objectId } = name === 'create' ? result.response : (more[0] as typeof result.response)
      const { results } = (await rest.get(config, auth, className, objectId)) as { results: object[] }
      // Somebody may have deleted it meanwhile.
      return { ...result, response: results[0] ?? result.response }
    }
  }
}
