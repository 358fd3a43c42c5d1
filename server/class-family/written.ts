import { code, Refusal } from './parse-request.ts'

/**
 * Refuses in the body of a write what Parse would drop without a word, misplace, or never answer: names that no
 * property can have, parts of properties deeper than `payload.mood`, operations and whole objects inside values.
 * @throws Refusal 400/105 or 400/107
 */
export function checkWritten(body: unknown, method: unknown): void {
  const names = method === 'PUT' ? /^[A-Za-z]\w*(\.[^.$]+)?$/ : /^[A-Za-z]\w*$/
  for (const [name, value] of Object.entries(body ?? {})) {
    if (!names.test(name)) refuse(code.invalidKey, `${name.slice(0, 40)} is not the name of a property`)
    if (value === null && name.includes('.'))
      refuse(code.invalidJson, `${name} is removed by a Delete operation`)
    if (isOperation(value)) Object.values(value).forEach(checkInner)
    else checkInner(value)
  }
}

function checkInner(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  if (isOperation(value) || (value as { __type?: unknown }).__type === 'Object')
    refuse(code.invalidJson, 'an operation or a whole object must not stand inside a value')
  Object.values(value).forEach(checkInner)
}

const isOperation = (value: unknown): value is object =>
  (value as { __op?: unknown } | null | undefined)?.__op !== undefined

function refuse(refusal: number, message: string): never {
  throw new Refusal(400, refusal, message)
}
