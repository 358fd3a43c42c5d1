import { lookUp } from '../../../schemas/validation/look-up.ts'
import {
  type Code,
  findCodeTerm,
  type Interval,
  type ObjectConstraint,
  type Primitive,
} from '../../opt/constraints.ts'

/** A code that an input offers. */
interface WebCode {
  value: string
  label: string
  localizedLabels?: Record<string, string>
  localizedDescriptions?: Record<string, string>
  ordinal?: number
  validation?: WebValidation
  /** The states of an instruction that belong to a careflow step. */
  currentStates?: readonly string[]
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

/** The parts of a constraint that determine the input fields of a value. */
export type InputNode = Pick<ObjectConstraint, 'rmType' | 'attributes' | 'archetype'> &
  Partial<Pick<ObjectConstraint, 'codes' | 'quantity' | 'ordinals'>>

const textInputs = (...suffixes: string[]): WebInput[] => suffixes.map((suffix) => ({ suffix, type: 'TEXT' }))

/** The input fields for a value. */
export function webInputsOf(node: InputNode, language: string): WebInput[] {
  switch (node.rmType) {
    case 'DV_CODED_TEXT':
    case 'DV_STATE':
      return codedInputs(node, language)
    case 'DV_QUANTITY':
      return quantityInputs(node, language)
    case 'DV_ORDINAL':
    case 'DV_SCALE':
      return [{ type: 'CODED_TEXT', ...toOptionalList(ordinalCodes(node, language)) }]
    case 'DV_PROPORTION':
      return proportionInputs(node)
    case 'DV_DURATION':
      return durationInputs(node)
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

/** The inputs of a coded text that may also be a text without a code. */
export const openInputs = (inputs: readonly WebInput[]): WebInput[] => [
  ...inputs.map((input) => (input.suffix === 'code' ? { ...input, listOpen: true } : input)),
  ...textInputs('other'),
]

const toOptionalList = (list: WebCode[]): { list?: WebCode[] } => (list.length > 0 ? { list } : {})

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
  const list = permittedValues(primitive).map((value) => ({ value, label: value }))
  const isText = primitive?.type === 'string' && list.length > 0
  return [
    {
      type,
      ...toOptionalList(list),
      ...(isText && { listOpen: primitive.isOpen === true }),
      ...toValidation(primitive),
    },
  ]
}

function permittedValues(primitive: Primitive | undefined): string[] {
  if (primitive?.type === 'string') return primitive.list ?? []
  if (primitive?.type === 'number') return (primitive.list ?? []).map(String)
  if (primitive?.type !== 'boolean' || primitive.trueValid === primitive.falseValid) return []
  return [String(primitive.trueValid)]
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

function toWebCode(node: InputNode, code: Code, language: string): WebCode {
  const { text: label = code.code, description } = findCodeTerm(node, code) ?? {}
  return {
    value: code.code,
    label,
    localizedLabels: { [language]: label },
    ...(description !== undefined && { localizedDescriptions: { [language]: description } }),
  }
}

function codedInputs(node: InputNode, language: string): WebInput[] {
  const codes = node.attributes.find(({ name }) => name === 'defining_code')?.children[0]?.codes
  const source = codes?.referenceSet ?? codes?.terminology
  const terminology = source ? { terminology: source } : {}
  if (!codes?.list.length) return textInputs('code', 'value').map((input) => ({ ...input, ...terminology }))
  const list = codes.list.map((code) => ({
    ...toWebCode(node, { terminology: codes.terminology, code }, language),
    ...(codes.states && { currentStates: codes.states.get(code) ?? [] }),
  }))
  return [{ suffix: 'code', type: 'CODED_TEXT', list, ...terminology }]
}

function quantityInputs({ quantity, archetype }: InputNode, language: string): WebInput[] {
  const list = (quantity?.list ?? []).map(({ units, magnitude, precision }) => ({
    value: units,
    label: units,
    ...localizedLabel(archetype.terms.get(units)?.text, language),
    ...((magnitude || precision) && {
      validation: {
        ...(magnitude && { range: toWebRange(magnitude) }),
        ...(precision && { precision: toWebRange(precision) }),
      },
    }),
  }))
  const [only, ...others] = list
  const validation = others.length === 0 && only?.validation ? { validation: only.validation } : {}
  return [
    { suffix: 'magnitude', type: 'DECIMAL', ...validation },
    { suffix: 'unit', type: quantity ? 'CODED_TEXT' : 'TEXT', ...toOptionalList(list) },
  ]
}

const localizedLabel = (text: string | undefined, language: string) =>
  text === undefined ? {} : { localizedLabels: { [language]: text } }

const ordinalCodes = (node: InputNode, language: string): WebCode[] =>
  (node.ordinals ?? []).map(({ value, symbol }) => ({
    ...toWebCode(node, symbol, language),
    ordinal: value,
  }))

/** The kinds of proportions, by their numbers. */
const PROPORTION_KINDS = ['ratio', 'unitary', 'percent', 'fraction', 'integer_fraction'] as const
/** The denominators that kinds of proportions demand. */
const DENOMINATORS: Readonly<Record<string, number>> = { unitary: 1, percent: 100 }

/** The kinds of proportions that a template permits. */
export function proportionKinds(node: InputNode): string[] {
  const primitive = primitiveOfAttribute(node, 'type')
  const numbers = primitive?.type === 'number' ? (primitive.list ?? []) : []
  const kinds = numbers.flatMap((number) => PROPORTION_KINDS[number] ?? [])
  return kinds.length > 0 ? kinds : [...PROPORTION_KINDS]
}

function proportionInputs(node: InputNode): WebInput[] {
  const [kind = '', ...others] = proportionKinds(node)
  const denominator = others.length === 0 ? lookUp(DENOMINATORS, kind) : undefined
  const only = denominator !== undefined && { minOp: '>=', min: denominator, maxOp: '<=', max: denominator }
  return ['numerator', 'denominator'].map((suffix) => ({
    suffix,
    type: 'DECIMAL',
    ...toValidation(primitiveOfAttribute(node, suffix)),
    ...(suffix === 'denominator' && only && { validation: { range: only } }),
  }))
}

/** The parts of a duration, with their letters in patterns and values. */
const DURATION_PARTS = [
  ...([
    ['year', 'Y'],
    ['month', 'M'],
    ['day', 'D'],
    ['week', 'W'],
  ] as const),
  ...([
    ['hour', 'TH'],
    ['minute', 'TM'],
    ['second', 'TS'],
  ] as const),
] as const

/** A field for each part that the template permits. */
function durationInputs(node: InputNode): WebInput[] {
  const primitive = primitiveOfAttribute(node, 'value')
  const { pattern = '', range } = primitive?.type === 'duration' ? primitive : {}
  const permittedLetters = durationLetters(pattern)
  const [lower, upper] = [range?.lower, range?.upper].map((end) => durationLetters(end ?? ''))
  return DURATION_PARTS.filter(([, letter]) => pattern === '' || permittedLetters.has(letter)).map(
    ([suffix, letter]) => {
      const min = lower?.get(letter)
      const max = upper?.get(letter)
      const bottom = { min: min ?? 0, minOp: min === undefined || range?.lowerIncluded ? '>=' : '>' }
      const top = max === undefined ? {} : { max, maxOp: range?.upperIncluded ? '<=' : '<' }
      return { suffix, type: 'INTEGER', validation: { range: { ...bottom, ...top } } }
    },
  )
}

/** The parts of a duration or its pattern: `P1Y2M` -> Y: 1, M: 2; `PTHM` -> TH, TM. */
function durationLetters(text: string): Map<string, number> {
  const [date = '', time = ''] = text.toUpperCase().split('T')
  const read = (part: string, before: string) =>
    [...part.matchAll(/(?<!\d)(\d*)([YMWDHS])/g)].map(
      ([, number = '', letter = '']) => [before + letter, Number(number)] as const,
    )
  return new Map([...read(date, ''), ...read(time, 'T')])
}
