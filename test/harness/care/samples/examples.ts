import { exampleOf } from '../../../../path-api/documentation/example.ts'
import type { Operation } from '../../../../path-api/operation/operation.ts'
import { table } from '../../../../path-api/table.ts'
import { CLASS_NAMES, type ClassName, classKind } from '../../../../records/kinds.ts'
import { classForm, fieldForm } from '../../../../schemas/forms/class-form.ts'
import { namesOf, toPath } from '../../../../schemas/forms/fields.ts'

type Json = Record<string, unknown>

/** The days and moments of an example as the path family shows them. */
const isoTexts = (name: ClassName, values: Json): Json => {
  const { fields } = classKind(name)
  const texts = Object.entries(fieldForm(fields, values)).map(([field, value]) => {
    const format = fields[field]?.format
    if (format === 'date') return [field, String(value).slice(0, 10)]
    return [field, format === 'date-time' ? new Date(String(value)).toISOString() : value]
  })
  return Object.fromEntries(texts)
}

/** What a client creates of a kind: its schema's example, days and moments as ISO texts, without the place. */
function exampleValues(name: ClassName): Json {
  const { place, create } = classKind(name)
  const example = Object.entries(exampleOf(create) as Json).filter(([field]) => !(field in place))
  return isoTexts(name, Object.fromEntries(example))
}

/** That as the path family's client writes it. */
export const exampleBody = (name: ClassName): Json => toPath(classKind(name).fields)(exampleValues(name))

/** The same as the class family's client writes it. */
export const exampleObject = (name: ClassName): Json => classForm(classKind(name).fields, exampleValues(name))

/** The same, as it is said of another one of those of which an EHR has each once. */
export function unlike(name: ClassName, values: Json): Json {
  const { known } = classKind(name)
  const own = (known?.by ?? []).filter((field) => field in values)
  return { ...values, ...Object.fromEntries(own.map((field) => [field, `${values[field]} ${++others}`])) }
}
let others = 0

/** A change of one text; undefined for a kind that has none. */
export function exampleChange(name: ClassName): Json | undefined {
  const { fields, known } = classKind(name)
  const fixed = [...namesOf(fields, 'fixed', 'closing', 'derived', 'internal'), ...(known?.by ?? [])]
  const text = Object.keys(fields).find(
    (field) => !fixed.includes(field) && fields[field]?.type === 'string' && fields[field].maxLength >= 200,
  )
  return text === undefined ? undefined : { [text]: 'changed' }
}

/** The ids by which an object of the class says where it belongs. */
export const placeOf = (name: ClassName, ids: object): Json =>
  Object.fromEntries(
    Object.keys(classKind(name).place).map((field) => [field, (ids as Record<string, string>)[field]]),
  )

/** How the path family adds records of a kind: below `/med` where it does so in both places. */
export function addition(name: ClassName): Operation | undefined {
  const all = table.filter(
    ({ kind, creates, reply: [status] }) => kind === name && (creates || status === 201),
  )
  return all.find(({ path }) => path.startsWith('/med/')) ?? all[0]
}

/** A path template with ids, and what a record is put under, filled in. */
export const pathIn = (path: string, values: object): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String((values as Json)[name === 'careplanId' ? 'carePlanId' : name])),
  )

/** Where one record is that was added there: what it is put under is its own path. */
export const pathOfOne = (name: ClassName, added: string, id: string): string =>
  addition(name)?.path.endsWith('}') ? added : `${added}/${id}`

/** Whether that can be done with one record, `history` or `/` itself, of those that are added there. */
export const isOffered = (method: Operation['method'], { path }: Operation, what = ''): boolean => {
  const shape = (template: string) => template.replaceAll(/\{\w+\}/g, '{}')
  const wanted = shape(`${path.endsWith('}') ? path : `${path}/{id}`}${what}`)
  return table.some((one) => one.method === method && shape(one.path) === wanted)
}

/** Those kinds that both families offer. */
export const SHARED: readonly ClassName[] = CLASS_NAMES.filter((name) => addition(name))
