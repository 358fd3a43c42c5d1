import { parseErrorCode, Refusal } from '../request/parse-request.ts'
import { fieldTypeOf } from '../request/served-classes.ts'

/**
 * A field or a path into an object field: `systolic`, `payload.mood.score`. Names of internal fields begin
 * with _.
 */
export function isFieldPath(name: unknown): name is string {
  return typeof name === 'string' && name.length <= 200 && /^[A-Za-z]\w*(\.[^.$\s,\0][^.$,\0]*)*$/.test(name)
}

/** Quotes the beginning of an input in an error message. An object may have a toString that is not a function. */
export const quoteInput = (value: unknown): string => {
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  return `"${text.slice(0, 64)}"`
}

/** The use of a field in a query, for the error message. */
type FieldUse =
  | 'search by'
  | 'sort by'
  | 'use with distinct'
  | 'select'
  | 'return'
  | 'leave out'
  | 'include'
  | 'watch'

/**
 * Checks a field or path that a query names.
 * @throws Refusal 400/102 that names the field
 */
export type QueryFieldCheck = (className: string, path: string, use: FieldUse) => void

/** Conditions on these fields would reveal values that nobody else may read. */
const HIDDEN_ACCOUNT_FIELDS = new Set(['email', 'password'])
const USES_OF_HIDDEN_FIELDS = new Set<FieldUse>(['return', 'leave out'])

/**
 * @param open the classes of the open test environment can get any field
 * @param isMaster the master key may search by hidden fields
 */
export const createQueryFieldCheck =
  (open: boolean, isMaster: boolean): QueryFieldCheck =>
  (className, path, use) => {
    const [root = ''] = path.split('.')
    const isHidden = root === 'ACL' || (className === '_User' && HIDDEN_ACCOUNT_FIELDS.has(root))
    if (isHidden && !isMaster && !USES_OF_HIDDEN_FIELDS.has(use))
      rejectField(`${root} of ${className} is not available to ${use}.`)
    if (!open && !hasField(className, path))
      rejectField(`${className} has no field ${quoteInput(path)} to ${use}.`)
  }

/** The parts of a field are unknown; a number or a text has none. */
function hasField(className: string, path: string): boolean {
  const [root = '', ...parts] = path.split('.')
  const type = fieldTypeOf(className, root)
  return type !== undefined && (parts.length === 0 || type === 'Object' || type === 'Array')
}

function rejectField(message: string): never {
  throw new Refusal(400, parseErrorCode.invalidQuery, message)
}
