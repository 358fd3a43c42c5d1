import { findRmClass, withoutTypeParameters } from '../../schemas/openehr/rm-classes.ts'
import { lookUp } from '../../schemas/validation/look-up.ts'
import { codedText, codePhrase } from '../rm/values/coded-text.ts'

/** The concrete class for an abstract one in a template or in the model. */
const CONCRETE_CLASSES: Readonly<Record<string, string>> = {
  EVENT: 'POINT_EVENT',
  ITEM_STRUCTURE: 'ITEM_TREE',
  ITEM: 'ELEMENT',
  PARTY_PROXY: 'PARTY_SELF',
  DATA_VALUE: 'DV_TEXT',
  DV_ORDERED: 'DV_COUNT',
  DV_QUANTIFIED: 'DV_COUNT',
  DV_AMOUNT: 'DV_COUNT',
  DV_TEMPORAL: 'DV_DATE_TIME',
  DV_ENCAPSULATED: 'DV_PARSABLE',
  DV_TIME_SPECIFICATION: 'DV_GENERAL_TIME_SPECIFICATION',
  UID_BASED_ID: 'HIER_OBJECT_ID',
  OBJECT_ID: 'GENERIC_ID',
  CONTENT_ITEM: 'SECTION',
  ENTRY: 'EVALUATION',
  CARE_ENTRY: 'EVALUATION',
}

export function concreteClassOf(rmType: string, declaredType: string): string {
  const type = withoutTypeParameters(rmType)
  if (findRmClass(type) === undefined) return declaredType
  return lookUp(CONCRETE_CLASSES, type) ?? type
}

export const EXAMPLE_TIME = '2026-03-01T08:30:00Z'

/** Values of attributes that the template does not constrain, by name. */
const DEFAULTS_BY_ATTRIBUTE: Readonly<Record<string, () => unknown>> = {
  language: () => codePhrase('ISO_639-1', 'en'),
  encoding: () => codePhrase('IANA_character-sets', 'UTF-8'),
  territory: () => codePhrase('ISO_3166-1', 'NL'),
  category: () => codedText('event', '433'),
  setting: () => codedText('other care', '238'),
  composer: () => ({ _type: 'PARTY_IDENTIFIED', name: 'Dr. Example' }),
  current_state: () => codedText('completed', '532'),
  math_function: () => codedText('maximum', '144'),
  narrative: () => ({ _type: 'DV_TEXT', value: 'Example' }),
  formalism: () => 'text/plain',
  media_type: () => codePhrase('IANA_media-types', 'text/plain'),
  action_archetype_id: () => '/.*/',
  archetype_node_id: () => 'at0000',
  name: () => ({ _type: 'DV_TEXT', value: 'Example' }),
  scheme: () => 'example',
  match: () => '=',
  size: () => 0,
}

/** The values of primitive types. */
const PRIMITIVE_DEFAULTS: Readonly<Record<string, unknown>> = {
  String: 'Example',
  NonEmptyString: 'example',
  Identifier: 'example',
  Boolean: true,
  Real: 1,
  Integer: 1,
  ProportionKind: 0,
  MagnitudeStatus: '=',
  Match: '=',
  Date: EXAMPLE_TIME.slice(0, 10),
  Time: EXAMPLE_TIME.slice(11, 19),
  DateTime: EXAMPLE_TIME,
  Duration: 'P1D',
  Base64: '',
  Uri: 'https://example.org/',
  EhrUri: 'ehr://example.org/',
}

/** Attributes that are optional in the model, but without which an object would be empty. */
const NEEDED_ATTRIBUTES: Readonly<Record<string, string>> = { ELEMENT: 'value', DV_MULTIMEDIA: 'uri' }

/** A minimal valid object or value where no template constrains it. */
export function defaultValue(type: string, name: string): unknown {
  const ofAttribute = lookUp(DEFAULTS_BY_ATTRIBUTE, name)
  if (ofAttribute) return ofAttribute()
  if (Object.hasOwn(PRIMITIVE_DEFAULTS, type)) return PRIMITIVE_DEFAULTS[type]
  const concrete = concreteClassOf(type, type)
  const object: Record<string, unknown> = { _type: concrete }
  for (const attribute of findRmClass(concrete)?.attributes.values() ?? [])
    if (attribute.mandatory || lookUp(NEEDED_ATTRIBUTES, concrete) === attribute.name) {
      const value = defaultValue(attribute.type, attribute.name)
      object[attribute.name] = attribute.multiple ? [value] : value
    }
  return object
}
