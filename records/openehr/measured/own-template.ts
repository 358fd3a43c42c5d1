import type { MeasurementKind } from '../../measurements/measurement.ts'
import type { Series } from '../../measurements/series.ts'
import { headOf, nameOf } from './composition-of.ts'
import { ROOT, shapeOf } from './shapes.ts'

const XSI = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'

const element = (name: string, ...inner: string[]): string => `<${name}>${inner.join('')}</${name}>`

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

type Range = readonly [lower: number, upper: number | undefined]

/** Both ends belong to it. */
const range = (name: string, [lower, upper]: Range): string =>
  element(
    name,
    ...[
      '<lower_included>true</lower_included>',
      upper === undefined ? '' : '<upper_included>true</upper_included>',
    ],
    '<lower_unbounded>false</lower_unbounded>',
    element('upper_unbounded', String(upper === undefined)),
    element('lower', String(lower)),
    upper === undefined ? '' : element('upper', String(upper)),
  )

interface Node {
  name: 'children' | 'definition'
  type: string
  rmType: string
  occurrences: Range
  nodeId: string
}

const node = ({ name, type, rmType, occurrences, nodeId }: Node, ...inner: string[]): string =>
  `<${name} xsi:type="${type}">${element('rm_type_name', rmType)}${range('occurrences', occurrences)}` +
  `${element('node_id', nodeId)}${inner.join('')}</${name}>`

const object = (rmType: string, nodeId: string, occurrences: Range, ...inner: string[]): string =>
  node({ name: 'children', type: 'C_COMPLEX_OBJECT', rmType, occurrences, nodeId }, ...inner)

const single = (name: string, ...children: string[]): string =>
  `<attributes xsi:type="C_SINGLE_ATTRIBUTE">${element('rm_attribute_name', name)}${range('existence', [1, 1])}${children.join('')}</attributes>`

const several = (name: string, cardinality: Range, ...children: string[]): string =>
  `<attributes xsi:type="C_MULTIPLE_ATTRIBUTE">${element('rm_attribute_name', name)}${range('existence', [Math.min(cardinality[0], 1), 1])}${children.join('')}` +
  `${element('cardinality', '<is_ordered>false</is_ordered><is_unique>false</is_unique>', range('interval', cardinality))}</attributes>`

const ONE: Range = [1, 1]
const PERHAPS: Range = [0, 1]
const SOME: Range = [1, undefined]
const ANY: Range = [0, undefined]

const primitive = (rmType: string, type: string, ...inner: string[]): string =>
  node(
    { name: 'children', type: 'C_PRIMITIVE_OBJECT', rmType, occurrences: ONE, nodeId: '' },
    `<item xsi:type="${type}">${inner.join('')}</item>`,
  )

const quantity = (units: string, bounds: Range): string =>
  node(
    { name: 'children', type: 'C_DV_QUANTITY', rmType: 'DV_QUANTITY', occurrences: ONE, nodeId: '' },
    element('list', range('magnitude', bounds), element('units', escaped(units))),
  )

/** As `measuredValue` makes it. */
function valuesOf({ unit, range: bounds }: Series): string {
  if (unit === '%')
    return object(
      ...(['DV_PROPORTION', '', ONE] as const),
      single('numerator', primitive('REAL', 'C_REAL', range('range', bounds))),
      single('denominator', primitive('REAL', 'C_REAL', element('list', '100'))),
      single('type', primitive('INTEGER', 'C_INTEGER', element('list', '2'))),
    )
  if (unit !== '{score}') return quantity(unit, bounds)
  const magnitude = single('magnitude', primitive('INTEGER', 'C_INTEGER', range('range', bounds)))
  return object('DV_COUNT', '', ONE, magnitude) + quantity('1', bounds)
}

const terms = (texts: readonly (readonly [code: string, text: string])[]): string =>
  texts
    .map(
      ([code, text]) =>
        `<term_definitions code="${code}"><items id="text">${escaped(text)}</items><items id="description">${escaped(text)}</items></term_definitions>`,
    )
    .join('')

const code = (terminology: string, inner: string): string =>
  element('terminology_id', element('value', terminology)) + inner

const archetypeId = (id: string): string => element('archetype_id', element('value', id))

const category = object(
  ...(['DV_CODED_TEXT', '', ONE] as const),
  single(
    'defining_code',
    node(
      { name: 'children', type: 'C_CODE_PHRASE', rmType: 'CODE_PHRASE', occurrences: ONE, nodeId: '' },
      code('openehr', element('code_list', '433')),
    ),
  ),
)

function observationOf(kind: MeasurementKind): string {
  const { archetype, history, event, tree, items } = shapeOf(kind)
  const series = Object.values(kind.series)
  const elements = series.map((one, i) =>
    object('ELEMENT', items[i] as string, PERHAPS, single('value', valuesOf(one))),
  )
  const data = object('ITEM_TREE', tree, ONE, several('items', ANY, ...elements))
  const events = several('events', SOME, object('EVENT', event, SOME, single('data', data)))
  const nodes = [
    ['at0000', nameOf(kind)],
    [history, 'History'],
    [event, 'Any event'],
    [tree, 'Data'],
    ...series.map(({ label }, i) => [items[i] as string, label]),
  ] as [string, string][]
  return node(
    { ...ROOTED, name: 'children', rmType: 'OBSERVATION', occurrences: SOME },
    single('data', object('HISTORY', history, ONE, events)),
    archetypeId(archetype),
    terms(nodes),
  )
}

const ROOTED = { type: 'C_ARCHETYPE_ROOT', nodeId: 'at0000' }

const DESCRIPTION = element(
  'description',
  '<original_author id="name">Health Record Service</original_author>',
  '<lifecycle_state>published</lifecycle_state>',
)

/** The operational template (OPT 1.4) of the compositions that measurements of a kind are. */
export function ownTemplateOf(kind: MeasurementKind): string {
  const definition = node(
    { ...ROOTED, name: 'definition', rmType: 'COMPOSITION', occurrences: ONE },
    single('category', category),
    several('content', SOME, observationOf(kind)),
    archetypeId(ROOT),
    terms([['at0000', nameOf(kind)]]),
  )
  const language = element('language', code('ISO_639-1', element('code_string', 'en')))
  const templateId = element('template_id', element('value', headOf(kind).templateId))
  const parts = [language, DESCRIPTION, templateId, element('concept', escaped(nameOf(kind))), definition]
  return `<?xml version="1.0" encoding="utf-8"?>\n<template ${XSI} xmlns="http://schemas.openehr.org/v1">${parts.join('')}</template>\n`
}

/** Those of all kinds, by their ids. */
export const ownTemplates = (kinds: readonly MeasurementKind[]): ReadonlyMap<string, string> =>
  new Map(kinds.map((kind) => [headOf(kind).templateId, ownTemplateOf(kind)]))
