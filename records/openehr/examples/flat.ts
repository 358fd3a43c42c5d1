import { type Reached, reaching } from '../aql/evaluation/predicates.ts'
import { path } from '../aql/language/paths.ts'
import { Reader } from '../aql/language/reader.ts'
import type { RmObject } from '../rm/canonical.ts'
import { isA } from '../rm/classes.ts'
import type { WebNode, WebTemplate } from '../templates/web-template.ts'

type Flat = Record<string, string | number | boolean>

/**
 * A composition in the flat format: a line for each value, by the ids of the web template.
 *
 *     "vital_signs/blood_pressure:0/any_event:0/systolic|magnitude": 120
 */
export function flatOf({ tree }: WebTemplate, composition: RmObject): Flat {
  const flat: Flat = {}
  write(flat, tree.id, tree, composition)
  return flat
}

function write(flat: Flat, place: string, node: WebNode, value: unknown): void {
  const object = isElement(value) ? value.value : value
  const children = node.children ?? []
  if (children.length === 0 || isValue(object)) {
    writeValue(flat, place, object)
    return
  }
  const told = new Set<string>()
  for (const child of children) {
    const what = `${child.rmType} ${child.aqlPath}`
    // The first one's place has whatever several of the same type and name may hold.
    if (told.has(what)) continue
    told.add(what)
    const found = below(node, child)(value)
    for (const [i, { value: one }] of found.entries())
      write(flat, `${place}/${child.id}${child.max === 1 ? '' : `:${i}`}`, child, one)
  }
}

const isElement = (value: unknown): value is RmObject => (value as RmObject | null)?._type === 'ELEMENT'

const isValue = (value: unknown): boolean =>
  typeof value !== 'object' || isA((value as RmObject | null)?._type ?? '', 'DATA_VALUE')

/** What stands at a node, from what stands at the one above it. */
function below(parent: WebNode, child: WebNode): Reached {
  const rest = child.aqlPath.slice(parent.aqlPath.length)
  return reaching(rest === '' ? [] : path(new Reader(`node${rest}`)).parts)
}

/** What the parts of a value are called behind the `|`; the one without a name stands at the place itself. */
const PARTS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  DV_QUANTITY: { magnitude: ['magnitude'], unit: ['units'] },
  DV_COUNT: { '': ['magnitude'] },
  DV_PROPORTION: { numerator: ['numerator'], denominator: ['denominator'], type: ['type'] },
  DV_CODED_TEXT: {
    code: ['defining_code', 'code_string'],
    value: ['value'],
    terminology: ['defining_code', 'terminology_id', 'value'],
  },
  DV_ORDINAL: {
    code: ['symbol', 'defining_code', 'code_string'],
    value: ['symbol', 'value'],
    ordinal: ['value'],
  },
  DV_SCALE: {
    code: ['symbol', 'defining_code', 'code_string'],
    value: ['symbol', 'value'],
    ordinal: ['value'],
  },
  DV_PARSABLE: { '': ['value'], formalism: ['formalism'] },
  DV_MULTIMEDIA: { '': ['uri', 'value'], mediatype: ['media_type', 'code_string'], size: ['size'] },
  DV_IDENTIFIER: { id: ['id'], type: ['type'], issuer: ['issuer'], assigner: ['assigner'] },
  CODE_PHRASE: { code: ['code_string'], terminology: ['terminology_id', 'value'] },
  PARTY_IDENTIFIED: { name: ['name'] },
}

const SIMPLE = { '': ['value'] } as const

function writeValue(flat: Flat, place: string, value: unknown): void {
  if (typeof value !== 'object' || value === null) {
    if (value !== undefined && value !== null) flat[place] = value as string
    return
  }
  const object = value as RmObject
  if (object._type === 'DV_INTERVAL') {
    for (const end of ['lower', 'upper']) writeValue(flat, `${place}/${end}`, object[end])
    return
  }
  for (const [suffix, names] of Object.entries(PARTS[object._type] ?? SIMPLE)) {
    const found = names.reduce<unknown>((part, name) => (part as RmObject | undefined)?.[name], object)
    if (['string', 'number', 'boolean'].includes(typeof found))
      flat[suffix ? `${place}|${suffix}` : place] = found as string
  }
}
