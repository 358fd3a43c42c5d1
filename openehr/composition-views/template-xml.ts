import { SERVICE_NAME } from '../../schemas/text/service-name.ts'
import { escapeText } from '../formats/xml.ts'
import { ENCOUNTER_ARCHETYPE } from './composition-parts.ts'
import type { CompositionHead } from './composition-view.ts'

const XSI_DECLARATION = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'

export const xmlElement = (name: string, ...inner: string[]): string => `<${name}>${inner.join('')}</${name}>`

type OccurrenceRange = readonly [lower: number, upper: number | undefined]

/** Both ends are inclusive. */
export const rangeXml = (name: string, [lower, upper]: OccurrenceRange): string =>
  xmlElement(
    name,
    '<lower_included>true</lower_included>',
    upper === undefined ? '' : '<upper_included>true</upper_included>',
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

export const objectXml = (
  rmType: string,
  nodeId: string,
  occurrences: OccurrenceRange,
  ...inner: string[]
): string => nodeXml({ name: 'children', type: 'C_COMPLEX_OBJECT', rmType, occurrences, nodeId }, ...inner)

export const singleAttributeXml = (name: string, ...children: string[]): string =>
  `<attributes xsi:type="C_SINGLE_ATTRIBUTE">${xmlElement('rm_attribute_name', name)}${rangeXml('existence', [1, 1])}${children.join('')}</attributes>`

export const multipleAttributeXml = (
  name: string,
  cardinality: OccurrenceRange,
  ...children: string[]
): string =>
  `<attributes xsi:type="C_MULTIPLE_ATTRIBUTE">${xmlElement('rm_attribute_name', name)}${rangeXml('existence', [Math.min(cardinality[0], 1), 1])}${children.join('')}` +
  `${xmlElement('cardinality', '<is_ordered>false</is_ordered><is_unique>false</is_unique>', rangeXml('interval', cardinality))}</attributes>`

export const EXACTLY_ONE: OccurrenceRange = [1, 1]
const ZERO_OR_ONE: OccurrenceRange = [0, 1]
export const ONE_OR_MORE: OccurrenceRange = [1, undefined]
const ANY_NUMBER: OccurrenceRange = [0, undefined]

export const primitiveXml = (rmType: string, type: string, ...inner: string[]): string =>
  nodeXml(
    { name: 'children', type: 'C_PRIMITIVE_OBJECT', rmType, occurrences: EXACTLY_ONE, nodeId: '' },
    `<item xsi:type="${type}">${inner.join('')}</item>`,
  )

export const quantityXml = (units: string, bounds: OccurrenceRange): string =>
  nodeXml(
    { name: 'children', type: 'C_DV_QUANTITY', rmType: 'DV_QUANTITY', occurrences: EXACTLY_ONE, nodeId: '' },
    xmlElement('list', rangeXml('magnitude', bounds), xmlElement('units', escapeText(units))),
  )

const termDefinitionsXml = (texts: readonly (readonly [code: string, text: string])[]): string =>
  texts
    .map(
      ([code, text]) =>
        `<term_definitions code="${code}"><items id="text">${escapeText(text)}</items><items id="description">${escapeText(text)}</items></term_definitions>`,
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

const ARCHETYPE_ROOT = { type: 'C_ARCHETYPE_ROOT', nodeId: 'at0000' }

type NodeName = readonly [nodeId: string, name: string]

/** An ENTRY with the names of its nodes; the first one is its own. */
export const entryXml = (
  rmType: string,
  archetype: string,
  data: string,
  nodes: readonly NodeName[],
): string =>
  nodeXml(
    { ...ARCHETYPE_ROOT, name: 'children', rmType, occurrences: ONE_OR_MORE },
    singleAttributeXml('data', data),
    archetypeIdXml(archetype),
    termDefinitionsXml(nodes),
  )

export const elementXml = (nodeId: string, ...values: string[]): string =>
  objectXml('ELEMENT', nodeId, ZERO_OR_ONE, singleAttributeXml('value', ...values))

export const treeXml = (nodeId: string, elements: readonly string[]): string =>
  objectXml('ITEM_TREE', nodeId, EXACTLY_ONE, multipleAttributeXml('items', ANY_NUMBER, ...elements))

const languageXml = xmlElement('language', codePhraseXml('ISO_639-1', xmlElement('code_string', 'en')))

const descriptionXml = (name: string): string =>
  xmlElement(
    'description',
    `<original_author id="name">${SERVICE_NAME}</original_author>`,
    '<lifecycle_state>published</lifecycle_state>',
    xmlElement('details', languageXml, xmlElement('purpose', `Records ${escapeText(name.toLowerCase())}.`)),
  )

/** The operational template (OPT 1.4) of compositions with such an entry. */
export function templateXml({ templateId, name }: CompositionHead, entry: string): string {
  const definition = nodeXml(
    { ...ARCHETYPE_ROOT, name: 'definition', rmType: 'COMPOSITION', occurrences: EXACTLY_ONE },
    singleAttributeXml('category', CATEGORY_XML),
    multipleAttributeXml('content', ONE_OR_MORE, entry),
    archetypeIdXml(ENCOUNTER_ARCHETYPE),
    termDefinitionsXml([['at0000', name]]),
  )
  const parts = [
    languageXml,
    descriptionXml(name),
    xmlElement('template_id', xmlElement('value', templateId)),
    xmlElement('concept', escapeText(name)),
    definition,
  ]
  return `<?xml version="1.0" encoding="utf-8"?>\n<template ${XSI_DECLARATION} xmlns="http://schemas.openehr.org/v1">${parts.join('')}</template>\n`
}
