import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { toXml } from '../../openehr/rm/canonical-xml.ts'
import { type Answer, assertStatus } from './clients/path-client.ts'
import { createRoleHolder, type Person } from './people/people.ts'

const XSI = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'

const intervalXml = (name: string, lower: number, upper: number | '*') =>
  `<${name}><lower_included>true</lower_included><lower_unbounded>false</lower_unbounded>` +
  `<upper_unbounded>${upper === '*'}</upper_unbounded><lower>${lower}</lower>` +
  `${upper === '*' ? '' : `<upper_included>true</upper_included><upper>${upper}</upper>`}</${name}>`

const objectXml = (type: string, rmType: string, nodeId: string, inner: string, most: number | '*' = 1) =>
  `<children xsi:type="${type}"><rm_type_name>${rmType}</rm_type_name>${intervalXml('occurrences', 0, most)}` +
  `<node_id>${nodeId}</node_id>${inner}</children>`

const attributeXml = (type: 'SINGLE' | 'MULTIPLE', name: string, inner: string, least = 0) =>
  `<attributes xsi:type="C_${type}_ATTRIBUTE"><rm_attribute_name>${name}</rm_attribute_name>` +
  `${intervalXml('existence', least, 1)}${inner}</attributes>`

const termsXml = (texts: Record<string, string>) =>
  Object.entries(texts)
    .map(
      ([code, text]) =>
        `<term_definitions code="${code}"><items id="text">${text}</items></term_definitions>`,
    )
    .join('')

const archetypeXml = (id: string) => `<archetype_id><value>${id}</value></archetype_id>`

const QUANTITY_XML =
  `<children xsi:type="C_DV_QUANTITY"><rm_type_name>DV_QUANTITY</rm_type_name>${intervalXml('occurrences', 1, 1)}<node_id/>` +
  `<list><magnitude>${intervalXml('x', 0, 1000).slice(3, -4)}</magnitude><units>mm[Hg]</units></list></children>`

/** The observation in the tests' compositions. */
interface ObservationArchetype {
  archetype: string
  event: string
  /** An archetype nested in each event, which has a node at0004 of its own. */
  device?: string
}

export const TEST_OBSERVATION: ObservationArchetype = {
  archetype: 'openEHR-EHR-OBSERVATION.pressure_of_tests.v1',
  event: 'at0002',
}

export const OBSERVATION_WITH_DEVICE: ObservationArchetype = {
  ...TEST_OBSERVATION,
  device: 'openEHR-EHR-CLUSTER.device_of_tests.v1',
}

/** As in the international archetype. */
export const BLOOD_PRESSURE: ObservationArchetype = {
  archetype: 'openEHR-EHR-OBSERVATION.blood_pressure.v2',
  event: 'at0006',
}

/** An operational template of our own: a composition with blood pressures, each systolic and diastolic. */
export const createTemplateXml = (
  templateId: string,
  concept = 'Pressure',
  observationArchetype = TEST_OBSERVATION,
): string => {
  const element = (nodeId: string) =>
    objectXml('C_COMPLEX_OBJECT', 'ELEMENT', nodeId, attributeXml('SINGLE', 'value', QUANTITY_XML))
  const device = (archetype: string) =>
    objectXml(
      'C_ARCHETYPE_ROOT',
      'CLUSTER',
      'at0006',
      attributeXml('MULTIPLE', 'items', element('at0004')) +
        archetypeXml(archetype) +
        termsXml({ at0000: 'Device', at0004: 'Cuff pressure' }),
    )
  const items = attributeXml(
    'MULTIPLE',
    'items',
    element('at0004') +
      element('at0005') +
      (observationArchetype.device ? device(observationArchetype.device) : ''),
  )
  const tree = objectXml('C_COMPLEX_OBJECT', 'ITEM_TREE', 'at0003', items)
  const data = attributeXml('SINGLE', 'data', tree, 1)
  const event = objectXml('C_COMPLEX_OBJECT', 'EVENT', observationArchetype.event, data, '*')
  const history = objectXml(
    'C_COMPLEX_OBJECT',
    'HISTORY',
    'at0001',
    attributeXml('MULTIPLE', 'events', event),
  )
  const observation = objectXml(
    'C_ARCHETYPE_ROOT',
    'OBSERVATION',
    'at0000',
    attributeXml('SINGLE', 'data', history, 1) +
      archetypeXml(observationArchetype.archetype) +
      termsXml({
        at0000: 'Blood pressure',
        [observationArchetype.event]: 'Any event',
        at0004: 'Systolic',
        at0005: 'Diastolic',
      }),
    '*',
  )
  return (
    `<?xml version="1.0" encoding="utf-8"?><template ${XSI} xmlns="http://schemas.openehr.org/v1">` +
    '<language><terminology_id><value>ISO_639-1</value></terminology_id><code_string>en</code_string></language>' +
    `<template_id><value>${templateId}</value></template_id><concept>${concept}</concept>` +
    `<definition><rm_type_name>COMPOSITION</rm_type_name>${intervalXml('occurrences', 1, 1)}<node_id>at0000</node_id>` +
    attributeXml('MULTIPLE', 'content', observation) +
    archetypeXml('openEHR-EHR-COMPOSITION.encounter_of_tests.v1') +
    `${termsXml({ at0000: 'Encounter' })}</definition></template>`
  )
}

/** Uploads bytes or text as XML. */
export const sendXml = (
  person: Person,
  method: string,
  path: string,
  xml: string | Buffer,
): Promise<Answer> => person.call(method, path, Buffer.from(xml), { 'content-type': 'application/xml' })

/** The unchanged bytes of a file of the corpus beside the project; undefined: the corpus does not exist. */
export function readCorpusBytes(path: string): Buffer | undefined {
  try {
    return readFileSync(new URL(`../../../../shared/corpus/${path}`, import.meta.url))
  } catch {
    return undefined
  }
}

const dvText = (value: string) => ({ _type: 'DV_TEXT', value })
const codePhrase = (terminology: string, code_string: string) => ({
  _type: 'CODE_PHRASE',
  terminology_id: { _type: 'TERMINOLOGY_ID', value: terminology },
  code_string,
})
const EXAMPLE_TIME = '2026-03-01T08:30:00Z'
const EXAMPLE_DATE_TIME = { _type: 'DV_DATE_TIME', value: EXAMPLE_TIME }

const locatable = <T extends object>(_type: string, archetype_node_id: string, name: string, more: T) => ({
  _type,
  archetype_node_id,
  name: dvText(name),
  ...more,
})

const archetypeDetails = (archetype: string, template?: string) => ({
  archetype_details: {
    _type: 'ARCHETYPED',
    archetype_id: { _type: 'ARCHETYPE_ID', value: archetype },
    ...(template && { template_id: { _type: 'TEMPLATE_ID', value: template } }),
    rm_version: '1.0.4',
  },
})

const ENTRY_DEFAULTS = {
  language: codePhrase('ISO_639-1', 'en'),
  encoding: codePhrase('IANA_character-sets', 'UTF-8'),
  subject: { _type: 'PARTY_SELF' },
}

/** A composition of the template above, in canonical JSON. */
export const createPressureComposition = (template: string, systolic: number, more: object = {}) =>
  createPressuresComposition(template, TEST_OBSERVATION, [[systolic]], more)

/** The same with several pressures: each has a systolic value, optionally a diastolic value and a time. */
export function createPressuresComposition(
  template: string,
  observationArchetype: ObservationArchetype,
  pressures: readonly [systolic: number, diastolic?: number, time?: string][],
  more: object = {},
) {
  const quantityOf = (magnitude: number) => ({ value: { _type: 'DV_QUANTITY', magnitude, units: 'mm[Hg]' } })
  const events = pressures.map(([systolic, diastolic, time = EXAMPLE_TIME]) => {
    const upper = locatable('ELEMENT', 'at0004', 'Systolic', quantityOf(systolic))
    const lower =
      diastolic === undefined ? [] : [locatable('ELEMENT', 'at0005', 'Diastolic', quantityOf(diastolic))]
    const device = observationArchetype.device
      ? [
          locatable('CLUSTER', observationArchetype.device, 'Device', {
            ...archetypeDetails(observationArchetype.device),
            items: [locatable('ELEMENT', 'at0004', 'Cuff pressure', quantityOf(1))],
          }),
        ]
      : []
    const data = locatable('ITEM_TREE', 'at0003', 'Tree', { items: [upper, ...lower, ...device] })
    return locatable('POINT_EVENT', observationArchetype.event, 'Any event', {
      time: { ...EXAMPLE_DATE_TIME, value: time },
      data,
    })
  })
  const history = locatable('HISTORY', 'at0001', 'History', { origin: EXAMPLE_DATE_TIME, events })
  const root = 'openEHR-EHR-COMPOSITION.encounter_of_tests.v1'
  return locatable('COMPOSITION', root, 'Encounter', {
    ...archetypeDetails(root, template),
    language: codePhrase('ISO_639-1', 'en'),
    territory: codePhrase('ISO_3166-1', 'NL'),
    category: { _type: 'DV_CODED_TEXT', value: 'event', defining_code: codePhrase('openehr', '433') },
    composer: { _type: 'PARTY_IDENTIFIED', name: 'Ann' },
    context: {
      _type: 'EVENT_CONTEXT',
      start_time: EXAMPLE_DATE_TIME,
      setting: { _type: 'DV_CODED_TEXT', value: 'home', defining_code: codePhrase('openehr', '225') },
    },
    content: [
      locatable('OBSERVATION', observationArchetype.archetype, 'Blood pressure', {
        ...archetypeDetails(observationArchetype.archetype),
        ...ENTRY_DEFAULTS,
        data: history,
      }),
    ],
    ...more,
  })
}

const STORED_TEMPLATES = new Map<ObservationArchetype, Promise<string>>()

/** The id of a stored template, for tests that need any template. */
export function getStoredTemplate(observationArchetype = TEST_OBSERVATION): Promise<string> {
  const template = STORED_TEMPLATES.get(observationArchetype) ?? storeTemplate(observationArchetype)
  STORED_TEMPLATES.set(observationArchetype, template)
  return template
}

async function storeTemplate(observationArchetype: ObservationArchetype): Promise<string> {
  const id = `Pressure ${randomUUID()}`
  const xml = createTemplateXml(id, 'Pressure', observationArchetype)
  assertStatus(await sendXml(await createRoleHolder('modeller'), 'POST', '/med/knowledge/template', xml), 201)
  return id
}

/** The same composition in XML. */
export const createPressureXml = (template: string, systolic: number): Buffer =>
  Buffer.from(toXml(createPressureComposition(template, systolic), 'composition'))
