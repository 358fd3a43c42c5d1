import { decimalText, formatList, parseDecimal } from '../../texts/format.ts'
import { translate } from '../../texts/translate.ts'
import { fieldsProblem, parseJson } from '../../ui/form/fields-problem.ts'
import type { Family, TypeDefinition } from './types-query.ts'

const BOUNDS = ['hardMin', 'hardMax', 'warnMin', 'warnMax'] as const
type Bound = (typeof BOUNDS)[number]
type TextName = 'type' | 'name' | 'description' | 'unit' | Bound | 'schema' | 'retired' | 'more'

/** The definition of a type as the form shows it. */
export type TypeTexts = Record<TextName, string>

/** The fields that the types of a family have. */
export const fieldsOf = (family: Family): readonly TextName[] => [
  ...(['name', 'description'] as const),
  ...(family === 'data' ? (['unit', ...BOUNDS] as const) : []),
  ...(family === 'device' ? [] : (['schema'] as const)),
  'more',
]

const NEW_SCHEMA = { data: { type: 'number' }, event: { type: 'object' }, device: undefined }

const jsonText = (value: unknown): string => (value == null ? '' : JSON.stringify(value, null, 2))

export function newTexts(family: Family): TypeTexts {
  const bounds = { hardMin: '', hardMax: '', warnMin: '', warnMax: '' }
  const schema = jsonText(NEW_SCHEMA[family])
  return { type: '', name: '', description: '', unit: '', ...bounds, schema, retired: '', more: '' }
}

export function textsOf(definition: TypeDefinition): TypeTexts {
  const { type, name, description, unit, ranges, schema, retired, ...rest } = definition
  const { used: _used, version: _version, createdAt: _created, updatedAt: _updated, ...others } = rest
  const more = Object.fromEntries(Object.entries(others).filter(([, value]) => value !== null))
  const numberText = (one: number | null | undefined) => (one == null ? '' : decimalText(one))
  return {
    type,
    name,
    description: description ?? '',
    unit: unit ?? '',
    schema: jsonText(schema),
    more: jsonText(more),
    hardMin: numberText(ranges?.hard?.min),
    hardMax: numberText(ranges?.hard?.max),
    warnMin: numberText(ranges?.warn?.min),
    warnMax: numberText(ranges?.warn?.max),
    retired: retired ? '✓' : '',
  }
}

/** The body that the texts stand for. @throws Problem that lists the texts that are not numbers or not JSON */
export function bodyOf(family: Family, texts: TypeTexts): object {
  const { type, name, description, unit, schema, retired, more } = texts
  const ranges = family === 'data' ? rangesOf(texts) : {}
  const typed = {
    type: type.trim(),
    name: name.trim(),
    retired: retired !== '',
    ...(description.trim() && { description: description.trim() }),
    ...(unit.trim() && { unit: unit.trim() }),
    ...(schema.trim() && { schema: parseJson(schema, 'schema') }),
    ...(Object.keys(ranges).length > 0 && { ranges }),
  }
  return { ...furtherProperties(more, typed), ...typed }
}

/** The properties without fields. @throws Problem that names those that are typed in fields, too: one value would be lost */
function furtherProperties(text: string, typed: object): object {
  const value = text.trim() === '' ? {} : parseJson(text, 'more')
  const refuse = (message: string) => fieldsProblem([{ field: 'more', message }])
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw refuse(translate('violation.object'))
  const names = Object.keys(value).filter((name) => Object.hasOwn(typed, name))
  if (names.length > 0) throw refuse(translate('violation.ownField', { names: formatList(names, 'and') }))
  return value
}

function rangesOf(texts: TypeTexts): object {
  const faults = BOUNDS.filter((name) => texts[name].trim() && parseDecimal(texts[name]) === undefined).map(
    (field) => ({ field, message: translate('violation.number', { name: translate(`types.${field}`) }) }),
  )
  if (faults.length > 0) throw fieldsProblem(faults)
  const range = (min: Bound, max: Bound) => ({
    ...(texts[min].trim() && { min: parseDecimal(texts[min]) }),
    ...(texts[max].trim() && { max: parseDecimal(texts[max]) }),
  })
  const hard = range('hardMin', 'hardMax')
  const warn = range('warnMin', 'warnMax')
  return {
    ...(Object.keys(hard).length > 0 && { hard }),
    ...(Object.keys(warn).length > 0 && { warn }),
  }
}
