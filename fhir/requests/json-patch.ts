import { isDeepStrictEqual } from 'node:util'
import { type Static, Type } from '@sinclair/typebox'
import { numberOf } from '../../records/fhir/decimal.ts'
import { isElement, memberOf } from '../../records/fhir/element-paths.ts'
import type { FhirResource } from '../../records/fhir/mapping.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { REQUEST_JSON_LIMITS, RESERVED_DOCUMENT_KEYS, walkJson } from '../../schemas/json/walk-json.ts'
import { createValidator } from '../../schemas/validation/validators.ts'

export const PatchSchema = Type.Array(
  Type.Object(
    {
      op: Type.Unsafe<'add' | 'remove' | 'replace' | 'move' | 'copy' | 'test'>({
        type: 'string',
        enum: ['add', 'remove', 'replace', 'move', 'copy', 'test'],
        description: 'Operation',
      }),
      path: Type.String({ maxLength: 1000, description: 'JSON Pointer of the element' }),
      from: Type.Optional(Type.String({ maxLength: 1000, description: 'JSON Pointer of the source' })),
      value: Type.Optional(Type.Unknown({ description: 'New value' })),
    },
    { additionalProperties: false, description: 'An operation of JSON Patch' },
  ),
  { maxItems: 1000, description: 'JSON Patch (RFC 6902)' },
)

export type PatchOperation = Static<typeof PatchSchema>[number]

export const patchViolations = createValidator(PatchSchema)

/** Characters of JSON that one patch may copy and move in all: each copy could double the resource. */
const MAX_CARRIED_LENGTH = 1_000_000

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
  const isLength = Array.isArray(within) && key === 'length'
  if (typeof within !== 'object' || within === null || isLength || RESERVED_DOCUMENT_KEYS.includes(key))
    throw patchError(position, 'must have a path to an existing element')
  return { within: within as Container, key }
}

/** @throws RuleViolated when there is none */
function valueAt(document: unknown, pointer: string, position: number): unknown {
  const { within, key } = locate(document, pointer, position)
  if (!Object.hasOwn(within, key)) throw patchError(position, 'must have a path to an existing element')
  return memberOf(within, key)
}

/** A copy of an element. @param showValue the value in place of each text, number, decimal, or boolean */
function copyElement<T>(element: T, showValue: (value: unknown) => unknown = (value) => value): T {
  if (Array.isArray(element)) return element.map((one) => copyElement(one, showValue)) as T
  if (!isElement(element)) return showValue(element) as T
  return Object.fromEntries(
    Object.entries(element).map(([name, member]) => [name, copyElement(member, showValue)]),
  ) as T
}

/** An element without the lists and elements in it that have no content, which FHIR forbids. */
function withoutEmptyParts(element: unknown): unknown {
  if (Array.isArray(element)) {
    const items = element.map(withoutEmptyParts).filter((item) => item !== undefined)
    return items.length > 0 ? items : undefined
  }
  if (!isElement(element)) return element
  const members = Object.entries(element)
    .map(([name, member]) => [name, withoutEmptyParts(member)])
    .filter(([, member]) => member !== undefined)
  return members.length > 0 ? Object.fromEntries(members) : undefined
}

/** Applies a patch to a copy of a resource. What operations leave empty is absent. @throws as applyPatch */
export const patchResource = (resource: FhirResource, patch: readonly PatchOperation[]): FhirResource =>
  (withoutEmptyParts(applyPatch(resource, patch)) ?? {}) as FhirResource

/** Applies a patch to a copy of a document. @throws RuleViolated for an operation that does not apply to it */
export function applyPatch<T>(document: T, patch: readonly PatchOperation[]): T {
  const patchedDocument = copyElement(document)
  let carriedLength = 0
  // Operations change the values of earlier ones, and a transaction that is repeated needs the patch as it was sent.
  for (const [position, operation] of copyElement(patch).entries()) {
    if (operation.op === 'copy' || operation.op === 'move')
      carriedLength += JSON.stringify(valueAt(patchedDocument, operation.from ?? '', position)).length
    if (carriedLength > MAX_CARRIED_LENGTH)
      throw patchError(position, `must not copy and move more than ${MAX_CARRIED_LENGTH} characters in all`)
    applyOperation(patchedDocument, operation, position)
  }
  return patchedDocument
}

function applyOperation(document: unknown, operation: PatchOperation, position: number): void {
  const { op, path, from = '', value } = operation
  if (op === 'test') {
    const [currentValue, expected] = [valueAt(document, path, position), value].map((one) =>
      copyElement(one, numberOf),
    )
    if (!isDeepStrictEqual(currentValue, expected))
      throw patchError(position, 'does not match the current value')
  } else if (op === 'remove') remove(document, path, position)
  else if (op === 'replace') {
    remove(document, path, position)
    add(document, path, value, position)
  } else if (op === 'add') add(document, path, value, position)
  else {
    const source = valueAt(document, from, position)
    if (op === 'move') remove(document, from, position)
    add(document, path, op === 'move' ? source : copyElement(source), position)
  }
}

function add(document: unknown, pointer: string, value: unknown, position: number): void {
  if (value === undefined) throw patchError(position, 'must have a value')
  requireShallow(pointer, value, position)
  const { within, key } = locate(document, pointer, position)
  if (!Array.isArray(within)) within[key] = value
  else if (key === '-') within.push(value)
  else if (/^(0|[1-9]\d{0,8})$/.test(key) && Number(key) <= within.length)
    within.splice(Number(key), 0, value)
  else throw patchError(position, 'must have a position within the list')
}

/** Copies and moves could nest elements deeper than a request may, until a recursion overflows the stack. */
function requireShallow(pointer: string, value: unknown, position: number): void {
  const { depth, values } = REQUEST_JSON_LIMITS
  const keyCount = keysOf(pointer).length
  if (keyCount > depth || walkJson(value, { depth: depth - keyCount, values }, () => {}) !== undefined)
    throw patchError(
      position,
      `must not nest elements deeper than ${depth} levels, nor have too many of them`,
    )
}

function remove(document: unknown, pointer: string, position: number): void {
  const { within, key } = locate(document, pointer, position)
  if (!Object.hasOwn(within, key)) throw patchError(position, 'must have a path to an existing element')
  if (Array.isArray(within)) within.splice(Number(key), 1)
  else delete within[key]
}
