import type { DocumentConversion } from './object-conversion.ts'
import { respondWithFullObjects, type WriteResponder, type WritingAdapter } from './object-writes.ts'

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

/** The parts of Parse Server that the open test environment changes. */
interface ParseParts {
  adapter: WritingAdapter
  responder: WriteResponder
  fieldTypes: FieldTypes
  conversion: DocumentConversion
  ParseError: ParseErrorClass
}

/**
 * Changes Parse Server for the open test environment: it validates no data, and writes objects itself. It responds
 * with them in full, as the main service does.
 */
export function adaptToOpenEnvironment({ fieldTypes, ...parts }: ParseParts): void {
  acceptAnyType(fieldTypes)
  respondInFull(parts)
}

/** Lets a field have values of several types. */
function acceptAnyType(types: FieldTypes): void {
  const { enforceFieldExists } = types
  types.enforceFieldExists = function (className, fieldName, type, ...more) {
    const known = this.getExpectedType(className, fieldName)
    if (isStoredAsSent(known) && isStoredAsSent(type)) return undefined
    return enforceFieldExists.call(this, className, fieldName, type, ...more)
  }
}

/** MongoDB's errors for an operation on a value of another type. */
const TYPE_ERROR_CODES = new Set<unknown>([2, 14, 28])

type ParseErrorClass = { new (code: number, message: string): Error; INCORRECT_TYPE: number }

function respondInFull({ adapter, responder, conversion, ParseError }: Omit<ParseParts, 'fieldTypes'>): void {
  const { createObject, findOneAndUpdate } = adapter
  const { toFullObject, markFull } = respondWithFullObjects(responder, conversion)
  const isOfClients = (className: string) => !className.startsWith('_')

  adapter.createObject = async function (className, schema, ...more) {
    const created = await createObject.call(this, className, schema, ...more)
    if (!isOfClients(className)) return created
    return { ops: created.ops.map((document) => toFullObject(className, document, schema)) }
  }

  adapter.findOneAndUpdate = async function (className, ...more) {
    const updated = await findOneAndUpdate.call(this, className, ...more).catch((error: unknown) => {
      throw TYPE_ERROR_CODES.has((error as { code?: unknown } | null)?.code)
        ? new ParseError(
            ParseError.INCORRECT_TYPE,
            'The stored property has another type than the operation.',
          )
        : error
    })
    return updated && isOfClients(className) ? markFull(updated) : updated
  }
}
