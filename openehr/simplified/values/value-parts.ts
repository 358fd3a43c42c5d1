import { findRmClass } from '../../../schemas/openehr/rm-classes.ts'
import { lookUp } from '../../../schemas/validation/look-up.ts'

/** A part of a value in the simplified formats: its name after `|`, and where it is in the object. */
export interface ValuePart {
  /** The first name is written; all are read. The empty name stands for the value itself. */
  names: readonly [string, ...string[]]
  path: readonly [string, ...string[]]
}

const part = (names: string, path: string): ValuePart => ({
  names: names.split(' ').map((name) => (name === '.' ? '' : name)) as [string, ...string[]],
  path: path.split('.') as [string, ...string[]],
})

const CODE = ['defining_code.code_string', 'defining_code.terminology_id.value'] as const
const SYMBOL = [
  part('code .', 'symbol.defining_code.code_string'),
  part('value', 'symbol.value'),
  part('terminology', 'symbol.defining_code.terminology_id.value'),
]
const PARTY = [
  part('id', 'external_ref.id.value'),
  part('id_scheme', 'external_ref.id.scheme'),
  part('id_namespace', 'external_ref.namespace'),
  part('id_type', 'external_ref.type'),
]
const PLAIN = part('. value', 'value')

/** The parts of each class, in addition to those of its parents. A dot stands for the empty name. */
const PARTS: Readonly<Record<string, readonly ValuePart[]>> = {
  DV_BOOLEAN: [PLAIN],
  DV_TEXT: [part('. value other', 'value'), part('formatting', 'formatting')],
  DV_CODED_TEXT: [
    part('code .', CODE[0]),
    part('value', 'value'),
    part('terminology', CODE[1]),
    part('preferred_term', 'defining_code.preferred_term'),
    part('formatting', 'formatting'),
  ],
  DV_URI: [PLAIN],
  DV_ORDERED: [part('normal_status', 'normal_status.code_string')],
  DV_QUANTIFIED: [part('magnitude_status', 'magnitude_status')],
  DV_AMOUNT: [part('accuracy', 'accuracy'), part('accuracy_is_percent', 'accuracy_is_percent')],
  DV_QUANTITY: [
    part('magnitude', 'magnitude'),
    part('unit units', 'units'),
    part('precision', 'precision'),
    part('units_system', 'units_system'),
    part('units_display_name', 'units_display_name'),
  ],
  DV_COUNT: [part('. value magnitude', 'magnitude')],
  DV_PROPORTION: [
    part('numerator', 'numerator'),
    part('denominator', 'denominator'),
    part('type', 'type'),
    part('precision', 'precision'),
  ],
  DV_ORDINAL: [...SYMBOL, part('ordinal', 'value')],
  DV_SCALE: [...SYMBOL, part('ordinal', 'value')],
  DV_DURATION: [PLAIN],
  DV_TEMPORAL: [PLAIN],
  DV_PARSABLE: [PLAIN, part('formalism', 'formalism')],
  DV_MULTIMEDIA: [
    part('. url uri value', 'uri.value'),
    part('mediatype', 'media_type.code_string'),
    part('size', 'size'),
    part('alternatetext', 'alternate_text'),
    part('data', 'data'),
    part('compression_algorithm', 'compression_algorithm.code_string'),
    part('integrity_check', 'integrity_check'),
    part('integrity_check_algorithm', 'integrity_check_algorithm.code_string'),
  ],
  DV_IDENTIFIER: [
    part('id .', 'id'),
    part('type', 'type'),
    part('issuer', 'issuer'),
    part('assigner', 'assigner'),
  ],
  CODE_PHRASE: [
    part('code .', 'code_string'),
    part('terminology', 'terminology_id.value'),
    part('preferred_term', 'preferred_term'),
  ],
  DV_INTERVAL: ['lower', 'upper'].flatMap((end) => [
    part(`${end}_included`, `${end}_included`),
    part(`${end}_unbounded`, `${end}_unbounded`),
  ]),
  PARTY_SELF: PARTY,
  PARTY_IDENTIFIED: [part('name', 'name'), ...PARTY],
  PARTICIPATION: [
    part('function', 'function.value'),
    part('function_code', 'function.defining_code.code_string'),
    part('function_terminology', 'function.defining_code.terminology_id.value'),
    part('mode', 'mode.value'),
  ],
  OBJECT_REF: [
    part('id', 'id.value'),
    part('id_scheme', 'id.scheme'),
    part('namespace', 'namespace'),
    part('type', 'type'),
  ],
  LOCATABLE_REF: [part('path', 'path')],
  OBJECT_ID: [PLAIN],
  LINK: [part('meaning', 'meaning.value'), part('type', 'type.value'), part('target', 'target.value')],
  TERM_MAPPING: [part('match', 'match')],
  FEEDER_AUDIT_DETAILS: [
    part('system_id', 'system_id'),
    part('version_id', 'version_id'),
    part('time', 'time.value'),
  ],
  INSTRUCTION_DETAILS: [
    part('activity_id', 'activity_id'),
    part('composition_uid', 'instruction_id.id.value'),
    part('path', 'instruction_id.path'),
    part('namespace', 'instruction_id.namespace'),
    part('type', 'instruction_id.type'),
  ],
  INTERVAL_EVENT: [part('sample_count', 'sample_count')],
}

/** Classes that do not have the parts of their parents. */
const STANDS_ALONE = new Set(['DV_CODED_TEXT'])

export function valueParts(rmType: string): readonly ValuePart[] {
  if (STANDS_ALONE.has(rmType)) return lookUp(PARTS, rmType) ?? []
  return [...(findRmClass(rmType)?.isA ?? [])].flatMap((name) => lookUp(PARTS, name) ?? [])
}

/** Attributes whose parts and nodes belong to the object itself: the performer of a participation. */
const MERGED_ATTRIBUTES: Readonly<Record<string, string>> = {
  PARTICIPATION: 'performer',
  REFERENCE_RANGE: 'range',
}

export const mergedAttribute = (rmType: string): string | undefined => lookUp(MERGED_ATTRIBUTES, rmType)

/** The names of nodes for attributes that are not forms, without the underscore. */
const NODE_NAMES: Readonly<Record<string, string>> = {
  links: 'link',
  mappings: 'mapping',
  identifiers: 'identifier',
  participations: 'participation',
  other_participations: 'other_participation',
  workflow_id: 'work_flow_id',
  feeder_system_item_ids: 'feeder_system_item_id',
  originating_system_item_ids: 'originating_system_item_id',
}

const ATTRIBUTES: ReadonlyMap<string, string> = new Map(
  Object.entries(NODE_NAMES).map(([attribute, name]) => [name, attribute]),
)

/** Classes whose attributes are nodes without an underscore. */
const PLAIN_NAMES = new Set([
  'FEEDER_AUDIT',
  'FEEDER_AUDIT_DETAILS',
  'DV_INTERVAL',
  'REFERENCE_RANGE',
  'TERM_MAPPING',
])

/** The nodes that make an event an INTERVAL_EVENT. */
export const INTERVAL_NODES = ['width', 'math_function']

/** The attributes of a history that are nodes of its observation: `history_origin`. */
export const HISTORY_ATTRIBUTES = [
  ['origin', 'DV_DATE_TIME'],
  ['period', 'DV_DURATION'],
  ['duration', 'DV_DURATION'],
] as const

/** Attributes that are nodes without an underscore in any class. */
const PLAIN_ATTRIBUTES = ['relationship', ...INTERVAL_NODES]

/** The name of the node for an attribute: `_link`. */
export function nodeNameOf(rmType: string, attribute: string): string {
  const name = lookUp(NODE_NAMES, attribute) ?? attribute
  return PLAIN_NAMES.has(rmType) || PLAIN_ATTRIBUTES.includes(attribute) ? name : `_${name}`
}

/** The attribute that a node stands for: `_link` -> links. */
export function attributeOfNode(rmType: string, name: string): string | undefined {
  const plain = name.replace(/^_/, '').replace(/^original_content_multimedia$/, 'original_content')
  const attribute = ATTRIBUTES.get(plain) ?? plain
  return findRmClass(rmType)?.attributes.has(attribute) ? attribute : undefined
}

/** The terminologies of codes that stand without one. */
const TERMINOLOGIES: Readonly<Record<string, string>> = {
  media_type: 'IANA_media-types',
  normal_status: 'openehr_normal_statuses',
  compression_algorithm: 'openehr_compression_algorithms',
  integrity_check_algorithm: 'openehr_integrity_check_algorithms',
  language: 'ISO_639-1',
  territory: 'ISO_3166-1',
  encoding: 'IANA_character-sets',
  charset: 'IANA_character-sets',
}

export const terminologyOf = (attribute: string): string | undefined => lookUp(TERMINOLOGIES, attribute)
