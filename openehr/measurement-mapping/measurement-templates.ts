import type { MeasurementKind } from '../../records/measurements/measurement.ts'
import type { Series } from '../../records/measurements/series.ts'
import { ENCOUNTER_ARCHETYPE, observationArchetypeOf } from './observation-archetypes.ts'
import { compositionHead, compositionName } from './to-composition.ts'

const XSI_DECLARATION = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'

const xmlElement = (name: string, ...inner: string[]): string => `<${name}>${inner.join('')}</${name}>`

const escapeXml = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

type OccurrenceRange = readonly [lower: number, upper: number | undefined]

/** Both ends are inclusive. */
const rangeXml = (name: string, [lower, upper]: OccurrenceRange): string =>
  xmlElement(
    name,
    ...[
      '<lower_included>true</lower_included>',
      upper === undefined ? '' : '<upper_included>true</upper_included>',
    ],
    '<lower_unbounded>false</lower_unbounded>',
    xmlElement('upper_unbounded', String(upper === undefined)),
    xmlElement('lower', String(lower)),
    upper === undefined ? '' : xmlElement('upper', String(upper)),
  )

interface NodeXml {
  name: 'children' | 'definition'
  type: string
  rmType: string
  occurrences: OccurrenceRange
  nodeId: string
}

const nodeXml = ({ name, type, rmType, occurrences, nodeId }: NodeXml, ...inner: string[]): string =>
  `<${name} xsi:type="${type}">${xmlElement('rm_type_name', rmType)}${rangeXml('occurrences', occurrences)}` +
  `${xmlElement('node_id', nodeId)}${inner.join('')}</${name}>`

const objectXml = (
  rmType: string,
  nodeId: string,
  occurrences: OccurrenceRange,
  ...inner: string[]
): string => nodeXml({ name: 'children', type: 'C_COMPLEX_OBJECT', rmType, occurrences, nodeId }, ...inner)

const singleAttributeXml = (name: string, ...children: string[]): string =>
  `<attributes xsi:type="C_SINGLE_ATTRIBUTE">${xmlElement('rm_attribute_name', name)}${rangeXml('existence', [1, 1])}${children.join('')}</attributes>`

const multipleAttributeXml = (name: string, cardinality: OccurrenceRange, ...children: string[]): string =>
  `<attributes xsi:type="C_MULTIPLE_ATTRIBUTE">${xmlElement('rm_attribute_name', name)}${rangeXml('existence', [Math.min(cardinality[0], 1), 1])}${children.join('')}` +
  `${xmlElement('cardinality', '<is_ordered>false</is_ordered><is_unique>false</is_unique>', rangeXml('interval', cardinality))}</attributes>`

const EXACTLY_ONE: OccurrenceRange = [1, 1]
const ZERO_OR_ONE: OccurrenceRange = [0, 1]
const ONE_OR_MORE: OccurrenceRange = [1, undefined]
const ANY_NUMBER: OccurrenceRange = [0, undefined]

const primitiveXml = (rmType: string, type: string, ...inner: string[]): string =>
  nodeXml(
    { name: 'children', type: 'C_PRIMITIVE_OBJECT', rmType, occurrences: EXACTLY_ONE, nodeId: '' },
    `<item xsi:type="${type}">${inner.join('')}</item>`,
  )

const quantityXml = (units: string, bounds: OccurrenceRange): string =>
  nodeXml(
    { name: 'children', type: 'C_DV_QUANTITY', rmType: 'DV_QUANTITY', occurrences: EXACTLY_ONE, nodeId: '' },
    xmlElement('list', rangeXml('magnitude', bounds), xmlElement('units', escapeXml(units))),
  )

/** Must match `toDataValue`. */
function seriesValueXml({ unit, range: bounds }: Series): string {
  if (unit === '%')
    return objectXml(
      ...(['DV_PROPORTION', '', EXACTLY_ONE] as const),
      singleAttributeXml('numerator', primitiveXml('REAL', 'C_REAL', rangeXml('range', bounds))),
      singleAttributeXml('denominator', primitiveXml('REAL', 'C_REAL', xmlElement('list', '100'))),
      singleAttributeXml('type', primitiveXml('INTEGER', 'C_INTEGER', xmlElement('list', '2'))),
    )
  if (unit !== '{score}') return quantityXml(unit, bounds)
  const magnitude = singleAttributeXml(
    'magnitude',
    primitiveXml('INTEGER', 'C_INTEGER', rangeXml('range', bounds)),
  )
  return objectXml('DV_COUNT', '', EXACTLY_ONE, magnitude) + quantityXml('1', bounds)
}

const termDefinitionsXml = (texts: readonly (readonly [code: string, text: string])[]): string =>
  texts
    .map(
      ([code, text]) =>
        `<term_definitions code="${code}"><items id="text">${escapeXml(text)}</items><items id="description">${escapeXml(text)}</items></term_definitions>`,
    )
    .join('')

const codePhraseXml = (terminology: string, inner: string): string =>
  xmlElement('terminology_id', xmlElement('value', terminology)) + inner

const archetypeIdXml = (id: string): string => xmlElement('archetype_id', xmlElement('value', id))

const CATEGORY_XML = objectXml(
  ...(['DV_CODED_TEXT', '', EXACTLY_ONE] as const),
  singleAttributeXml(
    'defining_code',
    nodeXml(
      {
        name: 'children',
        type: 'C_CODE_PHRASE',
        rmType: 'CODE_PHRASE',
        occurrences: EXACTLY_ONE,
        nodeId: '',
      },
      codePhraseXml('openehr', xmlElement('code_list', '433')),
    ),
  ),
)

function observationXml(kind: MeasurementKind): string {
  const { archetype, history, event, tree, items } = observationArchetypeOf(kind)
  const series = Object.values(kind.series)
  const elements = series.map((one, i) =>
    objectXml('ELEMENT', items[i] as string, ZERO_OR_ONE, singleAttributeXml('value', seriesValueXml(one))),
  )
  const data = objectXml(
    'ITEM_TREE',
    tree,
    EXACTLY_ONE,
    multipleAttributeXml('items', ANY_NUMBER, ...elements),
  )
  const events = multipleAttributeXml(
    'events',
    ONE_OR_MORE,
    objectXml('EVENT', event, ONE_OR_MORE, singleAttributeXml('data', data)),
  )
  const nodes = [
    ['at0000', compositionName(kind)],
    [history, 'History'],
    [event, 'Any event'],
    [tree, 'Data'],
    ...series.map(({ label }, i) => [items[i] as string, label]),
  ] as [string, string][]
  return nodeXml(
    { ...ARCHETYPE_ROOT, name: 'children', rmType: 'OBSERVATION', occurrences: ONE_OR_MORE },
    singleAttributeXml('data', objectXml('HISTORY', history, EXACTLY_ONE, events)),
    archetypeIdXml(archetype),
    termDefinitionsXml(nodes),
  )
}

const ARCHETYPE_ROOT = { type: 'C_ARCHETYPE_ROOT', nodeId: 'at0000' }

const languageXml = xmlElement('language', codePhraseXml('ISO_639-1', xmlElement('code_string', 'en')))

const descriptionXml = (name: string): string =>
  xmlElement(
    'description',
    '<original_author id="name">Health Record Service</original_author>',
    '<lifecycle_state>published</lifecycle_state>',
    xmlElement('details', languageXml, xmlElement('purpose', `Records ${escapeXml(name.toLowerCase())}.`)),
  )

/** The operational template (OPT 1.4) of a kind's measurement compositions. */
export function measurementTemplate(kind: MeasurementKind): string {
  const definition = nodeXml(
    { ...ARCHETYPE_ROOT, name: 'definition', rmType: 'COMPOSITION', occurrences: EXACTLY_ONE },
    singleAttributeXml('category', CATEGORY_XML),
    multipleAttributeXml('content', ONE_OR_MORE, observationXml(kind)),
    archetypeIdXml(ENCOUNTER_ARCHETYPE),
    termDefinitionsXml([['at0000', compositionName(kind)]]),
  )
  const templateId = xmlElement('template_id', xmlElement('value', compositionHead(kind).templateId))
  const parts = [
    languageXml,
    descriptionXml(compositionName(kind)),
    templateId,
    xmlElement('concept', escapeXml(compositionName(kind))),
    definition,
  ]
  return `<?xml version="1.0" encoding="utf-8"?>\n<template ${XSI_DECLARATION} xmlns="http://schemas.openehr.org/v1">${parts.join('')}</template>\n`
}

/** The templates of all kinds, by id. */
export const measurementTemplates = (kinds: readonly MeasurementKind[]): ReadonlyMap<string, string> =>
  new Map(kinds.map((kind) => [compositionHead(kind).templateId, measurementTemplate(kind)]))
