import { exampleOf } from '../../../../path-api/documentation/example.ts'
import type { Operation } from '../../../../path-api/operation/operation.ts'
import { operationTable } from '../../../../path-api/operation-table.ts'
import { CLASS_NAMES, type ClassName, classKindOf } from '../../../../records/kinds.ts'
import { fromClassForm, toClassForm } from '../../../../schemas/forms/class-form.ts'
import { createPathNamer, markedFieldNames } from '../../../../schemas/forms/fields.ts'

type Json = Record<string, unknown>

/** Days and times of an example in the path form. */
const toIsoTexts = (name: ClassName, values: Json): Json => {
  const { fields } = classKindOf(name)
  const texts = Object.entries(fromClassForm(fields, values)).map(([field, value]) => {
    const format = fields[field]?.format
    if (format === 'date') return [field, String(value).slice(0, 10)]
    return [field, format === 'date-time' ? new Date(String(value)).toISOString() : value]
  })
  return Object.fromEntries(texts)
}

/**
 * The body that a client sends to create a record: the schema's example, times as ISO texts, without parents.
 */
function exampleValues(name: ClassName): Json {
  const { parentIds: place, create } = classKindOf(name)
  const example = Object.entries(exampleOf(create) as Json).filter(([field]) => !(field in place))
  return toIsoTexts(name, Object.fromEntries(example))
}

/** The same in the path form. */
export const exampleBody = (name: ClassName): Json =>
  createPathNamer(classKindOf(name).fields)(exampleValues(name))

/** The same in the class form. */
export const exampleObject = (name: ClassName): Json =>
  toClassForm(classKindOf(name).fields, exampleValues(name))

/** The same with another natural key, since an EHR has each natural key once. */
export function withOtherKey(name: ClassName, values: Json): Json {
  const { naturalKey } = classKindOf(name)
  const keyFields = (naturalKey?.fields ?? []).filter((field) => field in values)
  return {
    ...values,
    ...Object.fromEntries(keyFields.map((field) => [field, `${values[field]} ${++exampleCount}`])),
  }
}
let exampleCount = 0

/** A change of one text; undefined for a kind without one. */
export function createExampleChange(name: ClassName): Json | undefined {
  const { fields, naturalKey } = classKindOf(name)
  const fixed = [
    ...markedFieldNames(fields, 'fixed', 'closing', 'derived', 'internal'),
    ...(naturalKey?.fields ?? []),
  ]
  const text = Object.keys(fields).find(
    (field) => !fixed.includes(field) && fields[field]?.type === 'string' && fields[field].maxLength >= 200,
  )
  return text === undefined ? undefined : { [text]: 'changed' }
}

/** The ids of an object's parents, as fields of the class. */
export const parentIdsOf = (name: ClassName, ids: object): Json =>
  Object.fromEntries(
    Object.keys(classKindOf(name).parentIds).map((field) => [field, (ids as Record<string, string>)[field]]),
  )

/** The operation that adds records of a kind in the path family; the one below `/med` if there are two. */
export function findAddOperation(name: ClassName): Operation | undefined {
  const operations = operationTable.filter(
    ({ kind, creates, reply: [status] }) => kind === name && (creates || status === 201),
  )
  return operations.find(({ path }) => path.startsWith('/med/')) ?? operations[0]
}

/** A path template with its ids and natural keys filled in. */
export const fillPath = (path: string, values: object): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String((values as Json)[name === 'careplanId' ? 'carePlanId' : name])),
  )

/**
 * The path of an added record. If the path it was added at ends with a key, this is also the path of the
 * record.
 */
export const recordPathOf = (name: ClassName, added: string, id: string): string =>
  findAddOperation(name)?.path.endsWith('}') ? added : `${added}/${id}`

/** Whether an operation (`history`, or `/` for the record itself) exists for the records added at a path. */
export const isOffered = (method: Operation['method'], { path }: Operation, what = ''): boolean => {
  const shape = (template: string) => template.replaceAll(/\{\w+\}/g, '{}')
  const expectedShape = shape(`${path.endsWith('}') ? path : `${path}/{id}`}${what}`)
  return operationTable.some((one) => one.method === method && shape(one.path) === expectedShape)
}

/** The kinds that both families offer. */
export const SHARED_KINDS: readonly ClassName[] = CLASS_NAMES.filter((name) => findAddOperation(name))
