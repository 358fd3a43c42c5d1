import { isDeepStrictEqual } from 'node:util'
import { memberOf } from '../../records/fhir/element-paths.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { RESERVED_KEYS } from '../../schemas/json/walk-json.ts'

/** An operation of JSON Patch (RFC 6902). */
export interface PatchOperation {
  op: 'add' | 'remove' | 'replace' | 'move' | 'copy' | 'test'
  path: string
  from?: string
  value?: unknown
}

type Container = Record<string, unknown> | unknown[]

const patchError = (position: number, message: string) =>
  new ServiceError('RuleViolated', { violations: [{ path: `[${position}]`, code: 'patch', message }] })

const keysOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))

/** Finds the container of a pointer's target, and the key in it. @throws RuleViolated */
function locate(document: unknown, pointer: string, position: number): { within: Container; key: string } {
  const keys = keysOf(pointer)
  const key = keys.pop()
  if (key === undefined || !pointer.startsWith('/'))
    throw patchError(position, 'must have a path below the resource')
  const within = keys.reduce(memberOf, document)
  if (typeof within !== 'object' || within === null || RESERVED_KEYS.includes(key))
    throw patchError(position, 'must have a path to an existing element')
  return { within: within as Container, key }
}

/** Applies a patch to a copy of a document. @throws RuleViolated for an operation that does not fit */
export function applyPatch<T>(document: T, patch: readonly PatchOperation[]): T {
  const copy = structuredClone(document)
  for (const [position, operation] of patch.entries()) applyOperation(copy, operation, position)
  return copy
}

function applyOperation(document: unknown, operation: PatchOperation, position: number): void {
  const { op, path, from = '', value } = operation
  const get = (pointer: string): unknown => {
    const { within, key } = locate(document, pointer, position)
    if (!Object.hasOwn(within, key)) throw patchError(position, 'must have a path to an existing element')
    return memberOf(within, key)
  }
  if (op === 'test') {
    if (!isDeepStrictEqual(get(path), value)) throw patchError(position, 'does not fit the current value')
  } else if (op === 'remove') remove(document, path, position)
  else if (op === 'replace') {
    remove(document, path, position)
    add(document, path, value, position)
  } else if (op === 'add') add(document, path, value, position)
  else {
    const moved = structuredClone(get(from))
    if (op === 'move') remove(document, from, position)
    add(document, path, moved, position)
  }
}

function add(document: unknown, pointer: string, value: unknown, position: number): void {
  const { within, key } = locate(document, pointer, position)
  if (!Array.isArray(within)) within[key] = value
  else if (key === '-') within.push(value)
  else if (/^(0|[1-9]\d{0,8})$/.test(key) && Number(key) <= within.length)
    within.splice(Number(key), 0, value)
  else throw patchError(position, 'must have a position within the list')
}

function remove(document: unknown, pointer: string, position: number): void {
  const { within, key } = locate(document, pointer, position)
  if (!Object.hasOwn(within, key) || key === 'length')
    throw patchError(position, 'must have a path to an existing element')
  if (Array.isArray(within)) within.splice(Number(key), 1)
  else delete within[key]
}
