import { isSubclassOf } from '../../schemas/openehr/rm-classes.ts'
import { lookUp } from '../../schemas/validation/look-up.ts'
import { createPathEvaluator, type PathEvaluator } from '../aql/evaluation/path-evaluator.ts'
import { parsePath } from '../aql/language/parse-path.ts'
import { TokenReader } from '../aql/language/token-reader.ts'
import type { RmObject } from '../rm/canonical-json.ts'
import type { WebNode, WebTemplate } from '../templates/web-template.ts'

type FlatComposition = Record<string, string | number | boolean>

/**
 * A composition in the flat format: a line for each value, by the ids of the web template.
 *
 *     "vital_signs/blood_pressure:0/any_event:0/systolic|magnitude": 120
 */
export function toFlatFormat({ tree }: WebTemplate, composition: RmObject): FlatComposition {
  const flat: FlatComposition = {}
  writeNode(flat, tree.id, tree, composition)
  return flat
}

function writeNode(flat: FlatComposition, place: string, node: WebNode, value: unknown): void {
  const object = isElement(value) ? value.value : value
  const children = node.children ?? []
  if (children.length === 0 || isDataValue(object)) {
    writeFlatValue(flat, place, object)
    return
  }
  const writtenPaths = new Set<string>()
  for (const child of children) {
    const what = `${child.rmType} ${child.aqlPath}`
    // Nodes of the same type and path share their values, so only the first one is written.
    if (writtenPaths.has(what)) continue
    writtenPaths.add(what)
    const found = pathToChild(node, child)(value)
    for (const [i, { value: one }] of found.entries())
      writeNode(flat, `${place}/${child.id}${child.max === 1 ? '' : `:${i}`}`, child, one)
  }
}

const isElement = (value: unknown): value is RmObject => (value as RmObject | null)?._type === 'ELEMENT'

const isDataValue = (value: unknown): boolean =>
  typeof value !== 'object' || isSubclassOf((value as RmObject | null)?._type ?? '', 'DATA_VALUE')

/** The path from a node to a child node. */
function pathToChild(parent: WebNode, child: WebNode): PathEvaluator {
  const rest = child.aqlPath.slice(parent.aqlPath.length)
  return createPathEvaluator(rest === '' ? [] : parsePath(new TokenReader(`node${rest}`)).parts)
}

/** The names of a value's parts after `|`; the part with an empty name is written without `|`. */
const VALUE_PARTS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
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

const SINGLE_VALUE_PART = { '': ['value'] } as const

function writeFlatValue(flat: FlatComposition, place: string, value: unknown): void {
  if (typeof value !== 'object' || value === null) {
    if (value !== undefined && value !== null) flat[place] = value as string
    return
  }
  const object = value as RmObject
  if (object._type === 'DV_INTERVAL') {
    for (const end of ['lower', 'upper']) writeFlatValue(flat, `${place}/${end}`, object[end])
    return
  }
  for (const [suffix, names] of Object.entries(lookUp(VALUE_PARTS, object._type) ?? SINGLE_VALUE_PART)) {
    const found = names.reduce<unknown>((part, name) => (part as RmObject | undefined)?.[name], object)
    if (['string', 'number', 'boolean'].includes(typeof found))
      flat[suffix ? `${place}|${suffix}` : place] = found as string
  }
}
