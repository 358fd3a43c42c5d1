import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { xmlOf } from '../../records/openehr/rm/in-xml.ts'
import { type Answer, ok } from './clients/path-client.ts'
import { newHolder, type Person } from './people/people.ts'

const XSI = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'

const times = (name: string, lower: number, upper: number | '*') =>
  `<${name}><lower_included>true</lower_included><lower_unbounded>false</lower_unbounded>` +
  `<upper_unbounded>${upper === '*'}</upper_unbounded><lower>${lower}</lower>` +
  `${upper === '*' ? '' : `<upper_included>true</upper_included><upper>${upper}</upper>`}</${name}>`

const object = (type: string, rmType: string, nodeId: string, inner: string, most: number | '*' = 1) =>
  `<children xsi:type="${type}"><rm_type_name>${rmType}</rm_type_name>${times('occurrences', 0, most)}` +
  `<node_id>${nodeId}</node_id>${inner}</children>`

const attribute = (type: 'SINGLE' | 'MULTIPLE', name: string, inner: string, least = 0) =>
  `<attributes xsi:type="C_${type}_ATTRIBUTE"><rm_attribute_name>${name}</rm_attribute_name>` +
  `${times('existence', least, 1)}${inner}</attributes>`

const terms = (texts: Record<string, string>) =>
  Object.entries(texts)
    .map(
      ([code, text]) =>
        `<term_definitions code="${code}"><items id="text">${text}</items></term_definitions>`,
    )
    .join('')

const archetype = (id: string) => `<archetype_id><value>${id}</value></archetype_id>`

const quantity =
  `<children xsi:type="C_DV_QUANTITY"><rm_type_name>DV_QUANTITY</rm_type_name>${times('occurrences', 1, 1)}<node_id/>` +
  `<list><magnitude>${times('x', 0, 1000).slice(3, -4)}</magnitude><units>mm[Hg]</units></list></children>`

/** What is observed in the compositions of the tests. */
interface Observed {
  archetype: string
  event: string
}

const OF_TESTS: Observed = { archetype: 'openEHR-EHR-OBSERVATION.pressure_of_tests.v1', event: 'at0002' }

/** As the international archetype has it. */
export const BLOOD_PRESSURE: Observed = {
  archetype: 'openEHR-EHR-OBSERVATION.blood_pressure.v2',
  event: 'at0006',
}

/** An operational template of our own: a composition with pressures, a systolic and a diastolic one. */
export const templateXml = (templateId: string, concept = 'Pressure', observed = OF_TESTS): string => {
  const element = (nodeId: string) =>
    object('C_COMPLEX_OBJECT', 'ELEMENT', nodeId, attribute('SINGLE', 'value', quantity))
  const items = attribute('MULTIPLE', 'items', element('at0004') + element('at0005'))
  const tree = object('C_COMPLEX_OBJECT', 'ITEM_TREE', 'at0003', items)
  const data = attribute('SINGLE', 'data', tree, 1)
  const event = object('C_COMPLEX_OBJECT', 'EVENT', observed.event, data, '*')
  const history = object('C_COMPLEX_OBJECT', 'HISTORY', 'at0001', attribute('MULTIPLE', 'events', event))
  const observation = object(
    'C_ARCHETYPE_ROOT',
    'OBSERVATION',
    'at0000',
    attribute('SINGLE', 'data', history, 1) +
      archetype(observed.archetype) +
      terms({
        at0000: 'Blood pressure',
        [observed.event]: 'Any event',
        at0004: 'Systolic',
        at0005: 'Diastolic',
      }),
    '*',
  )
  return (
    `<?xml version="1.0" encoding="utf-8"?><template ${XSI} xmlns="http://schemas.openehr.org/v1">` +
    '<language><terminology_id><value>ISO_639-1</value></terminology_id><code_string>en</code_string></language>' +
    `<template_id><value>${templateId}</value></template_id><concept>${concept}</concept>` +
    `<definition><rm_type_name>COMPOSITION</rm_type_name>${times('occurrences', 1, 1)}<node_id>at0000</node_id>` +
    attribute('MULTIPLE', 'content', observation) +
    archetype('openEHR-EHR-COMPOSITION.encounter_of_tests.v1') +
    `${terms({ at0000: 'Encounter' })}</definition></template>`
  )
}

/** Uploads bytes or a text as XML. */
export const sendXml = (
  person: Person,
  method: string,
  path: string,
  xml: string | Buffer,
): Promise<Answer> => person.call(method, path, Buffer.from(xml), { 'content-type': 'application/xml' })

/** A file of the corpus beside the project as it is; undefined: the corpus is not there. */
export function corpusBytes(path: string): Buffer | undefined {
  try {
    return readFileSync(new URL(`../../../../shared/corpus/${path}`, import.meta.url))
  } catch {
    return undefined
  }
}

const text = (value: string) => ({ _type: 'DV_TEXT', value })
const codePhrase = (terminology: string, code_string: string) => ({
  _type: 'CODE_PHRASE',
  terminology_id: { _type: 'TERMINOLOGY_ID', value: terminology },
  code_string,
})
const at = '2026-03-01T08:30:00Z'
const moment = { _type: 'DV_DATE_TIME', value: at }

const node = <T extends object>(_type: string, archetype_node_id: string, name: string, more: T) => ({
  _type,
  archetype_node_id,
  name: text(name),
  ...more,
})

const details = (archetype: string, template?: string) => ({
  archetype_details: {
    _type: 'ARCHETYPED',
    archetype_id: { _type: 'ARCHETYPE_ID', value: archetype },
    ...(template && { template_id: { _type: 'TEMPLATE_ID', value: template } }),
    rm_version: '1.0.4',
  },
})

const english = {
  language: codePhrase('ISO_639-1', 'en'),
  encoding: codePhrase('IANA_character-sets', 'UTF-8'),
  subject: { _type: 'PARTY_SELF' },
}

/** A composition of the template above, in canonical JSON. */
export const pressureOf = (template: string, systolic: number, more: object = {}) =>
  pressuresOf(template, OF_TESTS, [[systolic]], more)

/** With several pressures: each a systolic one, perhaps a diastolic one and when it was. */
export function pressuresOf(
  template: string,
  observed: Observed,
  pressures: readonly [systolic: number, diastolic?: number, time?: string][],
  more: object = {},
) {
  const quantityOf = (magnitude: number) => ({ value: { _type: 'DV_QUANTITY', magnitude, units: 'mm[Hg]' } })
  const events = pressures.map(([systolic, diastolic, time = at]) => {
    const upper = node('ELEMENT', 'at0004', 'Systolic', quantityOf(systolic))
    const lower =
      diastolic === undefined ? [] : [node('ELEMENT', 'at0005', 'Diastolic', quantityOf(diastolic))]
    const data = node('ITEM_TREE', 'at0003', 'Tree', { items: [upper, ...lower] })
    return node('POINT_EVENT', observed.event, 'Any event', { time: { ...moment, value: time }, data })
  })
  const history = node('HISTORY', 'at0001', 'History', { origin: moment, events })
  const root = 'openEHR-EHR-COMPOSITION.encounter_of_tests.v1'
  return node('COMPOSITION', root, 'Encounter', {
    ...details(root, template),
    language: codePhrase('ISO_639-1', 'en'),
    territory: codePhrase('ISO_3166-1', 'NL'),
    category: { _type: 'DV_CODED_TEXT', value: 'event', defining_code: codePhrase('openehr', '433') },
    composer: { _type: 'PARTY_IDENTIFIED', name: 'Ann' },
    context: {
      _type: 'EVENT_CONTEXT',
      start_time: moment,
      setting: { _type: 'DV_CODED_TEXT', value: 'home', defining_code: codePhrase('openehr', '225') },
    },
    content: [
      node('OBSERVATION', observed.archetype, 'Blood pressure', {
        ...details(observed.archetype),
        ...english,
        data: history,
      }),
    ],
    ...more,
  })
}

const stored = new Map<Observed, Promise<string>>()

/** The id of a template that is stored, for whoever only needs one. */
export function someTemplate(observed = OF_TESTS): Promise<string> {
  const template = stored.get(observed) ?? storeTemplate(observed)
  stored.set(observed, template)
  return template
}

async function storeTemplate(observed: Observed): Promise<string> {
  const id = `Pressure ${randomUUID()}`
  const xml = templateXml(id, 'Pressure', observed)
  ok(await sendXml(await newHolder('modeller'), 'POST', '/med/knowledge/template', xml), 201)
  return id
}

/** The same composition in XML. */
export const pressureXmlOf = (template: string, systolic: number): Buffer =>
  Buffer.from(xmlOf(pressureOf(template, systolic), 'composition'))
