import { lookUp } from '../../../schemas/validation/look-up.ts'
import { type ParseRequest, parseErrorCode, Refusal } from '../request/parse-request.ts'
import { fieldTypeOf } from '../request/served-classes.ts'
import { isAcl } from './acl.ts'

type FieldOperation = { __op: string }

/**
 * Rejects bodies that Parse would silently drop, misplace, or never answer: impossible property names, paths
 * deeper than `payload.mood`, and operations or whole objects inside values.
 * @throws Refusal 400 with 105, 107, 111 or 123
 */
export async function checkProperties(
  req: ParseRequest,
  { method, className, body }: { method: string; className: string; body: unknown },
): Promise<void> {
  for (const [name, value] of Object.entries(body ?? {})) {
    checkPropertyName(method, className, name)
    if (name.includes('.') && !isPartValue(value))
      rejectProperty(
        parseErrorCode.invalidJson,
        `${name} is a part of a property: send a value, or the operation Delete.`,
      )
    // Parse refuses it for each class but _User, where it is lost.
    if (method === 'POST' && name === 'objectId')
      rejectProperty(parseErrorCode.invalidKey, 'objectId is an invalid field name.')
    if (method === 'POST' && (name === 'createdAt' || name === 'updatedAt'))
      rejectProperty(parseErrorCode.validation, `${name} must not be set by clients`)
    if (name === 'ACL' && !isAcl(value))
      rejectProperty(
        parseErrorCode.invalidAcl,
        'ACL must have the form {"<user id, role:name or *>": {"read": true, "write": true}}.',
      )
    if (isOperation(value)) Object.values(value).forEach(checkNestedValue)
    else checkNestedValue(value)
  }
  await checkOperations(req, className, body)
}

function checkPropertyName(method: string, className: string, name: string): void {
  const names = method === 'PUT' ? /^[A-Za-z]\w*(\.[^.$]+)?$/ : /^[A-Za-z]\w*$/
  if (!names.test(name))
    rejectProperty(parseErrorCode.invalidKey, `"${name.slice(0, 40)}" cannot be the name of a property.`)
  const [root = '', part] = name.split('.')
  if (part === undefined) return
  const type = root === 'ACL' ? 'ACL' : (fieldTypeOf(className, root) ?? 'Object')
  if (type !== 'Object')
    rejectProperty(parseErrorCode.incorrectType, `${root} is a ${type} and has no parts: set it as a whole.`)
}

/** Required property type by operation. */
const OPERAND_TYPES: Record<string, string> = {
  Increment: 'Number',
  Add: 'Array',
  AddUnique: 'Array',
  Remove: 'Array',
  AddRelation: 'Relation',
  RemoveRelation: 'Relation',
  Batch: 'Relation',
}

/**
 * Rejects operations on properties of another type, on which Parse would fail. Types inside an object are
 * unknown, so only Delete is permitted there.
 */
async function checkOperations(req: ParseRequest, className: string, body: unknown): Promise<void> {
  const operations = Object.entries(body ?? {}).filter(([, value]) => isOperation(value))
  if (operations.length === 0) return
  const schema = await req.config.database.loadSchema()
  const shape = await schema.getOneSchema(className).catch(() => undefined)
  for (const [name, { __op: operation }] of operations) {
    const expected = lookUp(OPERAND_TYPES, operation)
    const type = name.includes('.') ? 'Object' : lookUp(shape?.fields ?? {}, name)?.type
    if (expected && type && type !== expected)
      rejectProperty(
        parseErrorCode.incorrectType,
        `Operation ${operation} needs a property of type ${expected}; ${name} is a ${type}.`,
      )
  }
}

function checkNestedValue(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  if (isOperation(value) || (value as { __type?: unknown }).__type === 'Object')
    rejectProperty(
      parseErrorCode.invalidJson,
      'A value cannot contain an operation (__op) or a Parse object (__type "Object").',
    )
  Object.values(value).forEach(checkNestedValue)
}

/** Parse fails on null as the value of a part, and checks too late what an operation applies to. */
const isPartValue = (value: unknown): boolean =>
  value !== null && (!isOperation(value) || value.__op === 'Delete')

const isOperation = (value: unknown): value is FieldOperation =>
  (value as { __op?: unknown } | null | undefined)?.__op !== undefined

function rejectProperty(refusal: number, message: string): never {
  throw new Refusal(400, refusal, message)
}
