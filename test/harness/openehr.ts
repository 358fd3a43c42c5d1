import { readFileSync } from 'node:fs'
import type { Answer } from './clients/path-client.ts'
import type { Person } from './people/people.ts'

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

/** An operational template of our own: a composition with a systolic pressure. */
export const templateXml = (templateId: string, concept = 'Pressure'): string => {
  const element = object('C_COMPLEX_OBJECT', 'ELEMENT', 'at0004', attribute('SINGLE', 'value', quantity))
  const tree = object('C_COMPLEX_OBJECT', 'ITEM_TREE', 'at0003', attribute('MULTIPLE', 'items', element))
  const event = object('C_COMPLEX_OBJECT', 'EVENT', 'at0002', attribute('SINGLE', 'data', tree, 1), '*')
  const history = object('C_COMPLEX_OBJECT', 'HISTORY', 'at0001', attribute('MULTIPLE', 'events', event))
  const observation = object(
    'C_ARCHETYPE_ROOT',
    'OBSERVATION',
    'at0000',
    attribute('SINGLE', 'data', history, 1) +
      archetype('openEHR-EHR-OBSERVATION.pressure_of_tests.v1') +
      terms({ at0000: 'Blood pressure', at0002: 'Any event', at0004: 'Systolic' }),
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
