import type { ParseDocument } from '../../records/store/documents/parse-format.ts'
import type { RmObject } from '../rm/canonical-json.ts'
import { codedText, codePhrase } from '../rm/values/coded-text.ts'
import { objectVersionId } from '../versions/original-version.ts'
import type { CompositionHead } from './composition-view.ts'

/** The archetype of all compositions of views. */
export const ENCOUNTER_ARCHETYPE = 'openEHR-EHR-COMPOSITION.encounter.v1'

/** The common part of the compositions of a kind. */
export const compositionHead = (path: string, archetype: string, noun: string): CompositionHead => ({
  archetypes: [ENCOUNTER_ARCHETYPE, archetype],
  templateId: `hrs.${path}.v1`,
  name: `${noun.slice(0, 1).toUpperCase()}${noun.slice(1)}`,
})

export const dvText = (value: string): RmObject => ({ _type: 'DV_TEXT', value })

const archetypeDetails = (archetype: string, template?: string): RmObject => ({
  _type: 'ARCHETYPED',
  archetype_id: { _type: 'ARCHETYPE_ID', value: archetype },
  ...(template && { template_id: { _type: 'TEMPLATE_ID', value: template } }),
  rm_version: '1.0.4',
})

/** An ENTRY about the subject of the EHR. */
export const entryOf = (
  type: 'OBSERVATION' | 'EVALUATION',
  archetype: string,
  name: string,
  data: RmObject,
): RmObject => ({
  _type: type,
  archetype_node_id: archetype,
  name: dvText(name),
  archetype_details: archetypeDetails(archetype),
  language: codePhrase('ISO_639-1', 'en'),
  encoding: codePhrase('IANA_character-sets', 'UTF-8'),
  subject: { _type: 'PARTY_SELF' },
  data,
})

export const treeOf = (nodeId: string, items: readonly RmObject[]): RmObject => ({
  _type: 'ITEM_TREE',
  archetype_node_id: nodeId,
  name: dvText('Data'),
  items: [...items],
})

export const namedElement = (nodeId: string, name: string, value: RmObject): RmObject => ({
  _type: 'ELEMENT',
  archetype_node_id: nodeId,
  name: dvText(name),
  value,
})

/** The composition of a record, with its only entry. */
export const compositionOf = (
  { templateId, name }: CompositionHead,
  { _id: id, version }: ParseDocument,
  start: RmObject,
  entry: RmObject,
): RmObject => ({
  _type: 'COMPOSITION',
  archetype_node_id: ENCOUNTER_ARCHETYPE,
  name: dvText(name),
  uid: objectVersionId({ id, version }),
  archetype_details: archetypeDetails(ENCOUNTER_ARCHETYPE, templateId),
  language: codePhrase('ISO_639-1', 'en'),
  territory: codePhrase('ISO_3166-1', 'NL'),
  category: codedText('event', '433'),
  composer: { _type: 'PARTY_SELF' },
  context: { _type: 'EVENT_CONTEXT', start_time: start, setting: codedText('other care', '238') },
  content: [entry],
})
