import { code, type ParseRequest, Refusal } from './request/parse-request.ts'

/**
 * Refuses in the body of a write what Parse would drop without a word, misplace, or never answer: names that no
 * property can have, parts of properties deeper than `payload.mood`, operations and whole objects inside values.
 * @throws Refusal 400 with 105, 107 or 123
 */
export function checkWritten(body: unknown, method: unknown): void {
  const names = method === 'PUT' ? /^[A-Za-z]\w*(\.[^.$]+)?$/ : /^[A-Za-z]\w*$/
  for (const [name, value] of Object.entries(body ?? {})) {
    if (!names.test(name)) refuse(code.invalidKey, `${name.slice(0, 40)} is not the name of a property`)
    if (name.includes('.') && !isPartValue(value))
      refuse(code.invalidJson, `${name}, a part of a property, takes a value or the operation Delete`)
    if (name === 'ACL' && !isAcl(value)) refuse(code.invalidAcl, 'the ACL does not have the form of one')
    if (isOperation(value)) Object.values(value).forEach(checkInner)
    else checkInner(value)
  }
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
 * Refuses operations on properties of another type, which Parse fails on. Of what lies inside an object nobody knows
 * the type: there only Delete is possible.
 * @throws Refusal 400/111
 */
export async function checkOperations(req: ParseRequest, className: string, body: unknown): Promise<void> {
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
    refuse(code.invalidJson, 'an operation or a whole object must not stand inside a value')
  Object.values(value).forEach(checkInner)
}

/** On a part Parse reads null as a fault of its own, and finds out too late what an operation is applied to. */
const isPartValue = (value: unknown): boolean =>
  value !== null && (!isOperation(value) || (value as { __op: unknown }).__op === 'Delete')

/** `{"<user, role or *>": {"read": true, "write": true}}` */
const isAcl = (value: unknown): boolean =>
  isPlain(value) &&
  Object.values(value).every(
    (rights) =>
      isPlain(rights) &&
      Object.entries(rights).every(
        ([right, given]) => /^(read|write)$/.test(right) && typeof given === 'boolean',
      ),
  )

const isPlain = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isOperation = (value: unknown): value is object =>
  (value as { __op?: unknown } | null | undefined)?.__op !== undefined

function refuse(refusal: number, message: string): never {
  throw new Refusal(400, refusal, message)
}
