import { lookUp } from '../../schemas/validation/look-up.ts'
import type { Interval, ObjectConstraint, Primitive } from '../opt/constraints.ts'

/** A code that an input offers. */
interface WebCode {
  value: string
  label: string
  localizedLabels?: Record<string, string>
  localizedDescriptions?: Record<string, string>
  ordinal?: number
  validation?: WebValidation
}

interface WebValidation {
  pattern?: string
  range?: Record<string, number | string>
  precision?: Record<string, number | string>
}

/** A form field for one part of a value. */
export interface WebInput {
  suffix?: string
  type: string
  list?: WebCode[]
  listOpen?: boolean
  validation?: WebValidation
  terminology?: string
}

/** The parts of a node that determine its input fields. */
type InputNode = Pick<ObjectConstraint, 'rmType' | 'attributes' | 'archetype'> &
  Partial<Pick<ObjectConstraint, 'codes' | 'quantity' | 'ordinals'>>

const textInputs = (...suffixes: string[]): WebInput[] => suffixes.map((suffix) => ({ suffix, type: 'TEXT' }))

const DURATION_PARTS = ['year', 'month', 'day', 'week', 'hour', 'minute', 'second']

/** The input fields for a value of this node. */
export function webTemplateInputs(node: InputNode, language: string): WebInput[] {
  switch (node.rmType) {
    case 'DV_CODED_TEXT':
      return codedInputs(node, language)
    case 'DV_QUANTITY':
      return quantityInputs(node)
    case 'DV_ORDINAL':
    case 'DV_SCALE':
      return [{ type: 'CODED_TEXT', list: ordinalInputCodes(node, language) }]
    case 'DV_PROPORTION':
      return ['numerator', 'denominator'].map((suffix) => ({
        suffix,
        type: 'DECIMAL',
        ...toValidation(primitiveOfAttribute(node, suffix)),
      }))
    case 'DV_DURATION':
      return DURATION_PARTS.map((suffix) => ({
        suffix,
        type: 'INTEGER',
        validation: { range: { min: 0, minOp: '>=' } },
      }))
    case 'DV_PARSABLE':
      return textInputs('value', 'formalism')
    case 'DV_IDENTIFIER':
      return textInputs('id', 'type', 'issuer', 'assigner')
    case 'PARTY_PROXY':
      return textInputs('id', 'id_scheme', 'id_namespace', 'name')
    default:
      return simpleInputs(node)
  }
}

const SIMPLE_INPUTS: Readonly<Record<string, [type: string, attribute: string]>> = {
  DV_TEXT: ['TEXT', 'value'],
  DV_URI: ['TEXT', 'value'],
  DV_EHR_URI: ['TEXT', 'value'],
  DV_MULTIMEDIA: ['TEXT', 'uri'],
  STRING: ['TEXT', ''],
  DV_BOOLEAN: ['BOOLEAN', 'value'],
  DV_COUNT: ['INTEGER', 'magnitude'],
  DV_DATE: ['DATE', 'value'],
  DV_TIME: ['TIME', 'value'],
  DV_DATE_TIME: ['DATETIME', 'value'],
}

function simpleInputs(node: InputNode): WebInput[] {
  const [type, attribute] = lookUp(SIMPLE_INPUTS, node.rmType) ?? []
  if (type === undefined || attribute === undefined) return []
  const primitive = primitiveOfAttribute(node, attribute)
  const list = primitive?.type === 'string' ? primitive.list : undefined
  return [
    {
      type,
      ...(list && { list: list.map((value) => ({ value, label: value })), listOpen: false }),
      ...toValidation(primitive),
    },
  ]
}

const primitiveOfAttribute = ({ attributes }: InputNode, attribute: string): Primitive | undefined =>
  attributes.find(({ name }) => name === attribute)?.children[0]?.primitive

function toValidation(primitive: Primitive | undefined): { validation?: WebValidation } {
  const pattern = primitive && 'pattern' in primitive ? primitive.pattern : undefined
  const range = primitive && 'range' in primitive ? primitive.range : undefined
  if (pattern === undefined && range === undefined) return {}
  return { validation: { ...(pattern && { pattern }), ...(range && { range: toWebRange(range) }) } }
}

function toWebRange({ lower, upper, lowerIncluded, upperIncluded }: Interval<number | string>) {
  return {
    ...(lower !== undefined && { minOp: lowerIncluded ? '>=' : '>', min: lower }),
    ...(upper !== undefined && { maxOp: upperIncluded ? '<=' : '<', max: upper }),
  }
}

function toWebCode({ archetype }: InputNode, code: string, language: string): WebCode {
  const { text: label = code, description } = archetype.terms.get(code) ?? {}
  return {
    value: code,
    label,
    localizedLabels: { [language]: label },
    ...(description !== undefined && { localizedDescriptions: { [language]: description } }),
  }
}

function codedInputs(node: InputNode, language: string): WebInput[] {
  const codes = node.attributes.find(({ name }) => name === 'defining_code')?.children[0]?.codes
  const terminology = codes?.terminology ? { terminology: codes.terminology } : {}
  if (!codes?.list.length) return textInputs('code', 'value').map((input) => ({ ...input, ...terminology }))
  const list = codes.list.map((code) => toWebCode(node, code, language))
  return [{ suffix: 'code', type: 'CODED_TEXT', list, ...terminology }]
}

function quantityInputs({ quantity }: InputNode): WebInput[] {
  const list = (quantity?.list ?? []).map(({ units, magnitude, precision }) => ({
    value: units,
    label: units,
    ...((magnitude || precision) && {
      validation: {
        ...(magnitude && { range: toWebRange(magnitude) }),
        ...(precision && { precision: toWebRange(precision) }),
      },
    }),
  }))
  return [
    { suffix: 'magnitude', type: 'DECIMAL' },
    { suffix: 'unit', type: 'CODED_TEXT', list },
  ]
}

const ordinalInputCodes = (node: InputNode, language: string): WebCode[] =>
  (node.ordinals ?? []).map(({ value, symbol }) => ({
    ...toWebCode(node, symbol.code, language),
    ordinal: value,
  }))
