import { typeOfField } from '../request/classes.ts'
import { code, type ParseRequest, Refusal } from '../request/parse-request.ts'
import { isAcl } from './acl.ts'

type Operation = { __op: string }

/**
 * Refuses in the body of a write what Parse would drop without a word, misplace, or never answer: names that no
 * property can have, parts of properties deeper than `payload.mood`, operations and whole objects inside values.
 * @throws Refusal 400 with 105, 107, 111 or 123
 */
export async function checkProperties(
  req: ParseRequest,
  { method, className, body }: { method: string; className: string; body: unknown },
): Promise<void> {
  for (const [name, value] of Object.entries(body ?? {})) {
    checkName(method, className, name)
    if (name.includes('.') && !isPartValue(value))
      refuse(code.invalidJson, `${name}, a part of a property, takes a value or the operation Delete`)
    if (name === 'ACL' && (className === '_User' || !isAcl(value)))
      refuse(code.invalidAcl, 'the ACL is malformed, or must not be set by clients')
    if (isOperation(value)) Object.values(value).forEach(checkInner)
    else checkInner(value)
  }
  checkDeletedParts(Object.entries(body ?? {}))
  await checkOperations(req, className, body)
}

/** Parse writes an object whole when one of its parts is set: beside that no part can be deleted. */
function checkDeletedParts(properties: [string, unknown][]): void {
  const rootOf = (name: string): string | undefined => name.split('.')[0]
  const set = properties.filter((property) => !isDeletedPart(property)).map(([name]) => rootOf(name))
  const deleted = properties.filter(isDeletedPart).map(([name]) => rootOf(name))
  const both = deleted.find((root) => set.includes(root))
  if (both !== undefined)
    refuse(code.invalidJson, `parts of ${both} must not be set and deleted in one request`)
}

const isDeletedPart = ([name, value]: [string, unknown]): boolean => name.includes('.') && isOperation(value)

function checkName(method: string, className: string, name: string): void {
  const names = method === 'PUT' ? /^[A-Za-z]\w*(\.[^.$]+)?$/ : /^[A-Za-z]\w*$/
  if (!names.test(name)) refuse(code.invalidKey, `${name.slice(0, 40)} is not the name of a property`)
  const [root = '', part] = name.split('.')
  if (part === undefined) return
  const type = root === 'ACL' ? 'ACL' : (typeOfField(className, root) ?? 'Object')
  if (type !== 'Object') refuse(code.incorrectType, `${root} is a ${type}: it has no parts`)
}

/** The type that a property must have for an operation. */
const operands: Record<string, string> = {
  Increment: 'Number',
  Add: 'Array',
  AddUnique: 'Array',
  Remove: 'Array',
  AddRelation: 'Relation',
  RemoveRelation: 'Relation',
  Batch: 'Relation',
}

/**
 * Refuses operations on properties of another type, on which Parse fails. Inside an object nobody knows
 * the type: there only Delete is possible.
 */
async function checkOperations(req: ParseRequest, className: string, body: unknown): Promise<void> {
  const operations = Object.entries(body ?? {}).filter(([, value]) => isOperation(value))
  if (operations.length === 0) return
  const schema = await req.config.database.loadSchema()
  const shape = await schema.getOneSchema(className).catch(() => undefined)
  for (const [name, { __op: operation }] of operations) {
    const expected = operands[operation]
    const type = name.includes('.') ? 'Object' : shape?.fields[name]?.type
    if (expected && type && type !== expected)
      refuse(code.incorrectType, `${name} is a ${type}: it has no operation ${operation}`)
  }
}

function checkInner(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  if (isOperation(value) || (value as { __type?: unknown }).__type === 'Object')
    refuse(code.invalidJson, 'a value must not contain an operation or a Parse object')
  Object.values(value).forEach(checkInner)
}

/** On a part Parse reads null as a fault of its own, and finds out too late what an operation is applied to. */
const isPartValue = (value: unknown): boolean =>
  value !== null && (!isOperation(value) || value.__op === 'Delete')

const isOperation = (value: unknown): value is Operation =>
  (value as { __op?: unknown } | null | undefined)?.__op !== undefined

function refuse(refusal: number, message: string): never {
  throw new Refusal(400, refusal, message)
}
