import { findCodeTerm, type Interval, type ObjectConstraint, type Primitive } from '../opt/constraints.ts'
import { codedText, codePhrase } from '../rm/values/coded-text.ts'
import { defaultValue, EXAMPLE_TIME } from './default-values.ts'

type AttributeValues = Record<string, unknown>

/**
 * The attributes of a value that follow from the template's constraints; for a primitive type its `value`.
 */
export function constrainedValues(node: ObjectConstraint, type: string): AttributeValues {
  if (node.primitive) return { value: primitiveValue(node.primitive) }
  switch (type) {
    case 'DV_QUANTITY':
      return quantityValues(node)
    case 'DV_ORDINAL':
    case 'DV_SCALE':
      return ordinalValues(node, type)
    case 'DV_CODED_TEXT':
      return codedValues(node)
    case 'CODE_PHRASE':
      return constrainedCodePhrase(node) ?? {}
    case 'DV_PROPORTION':
      return proportionValues(node)
    case 'DV_INTERVAL':
      return { lower_included: true, upper_included: true, lower_unbounded: false, upper_unbounded: false }
    case 'DV_URI':
      return { value: 'https://example.org/' }
    case 'DV_MULTIMEDIA':
      return attributeConstraint(node, 'data') ? {} : { uri: defaultValue('DV_URI', 'uri') }
    case 'DV_TEXT':
      return attributeConstraint(node, 'value') ? {} : { value: 'Example' }
    default:
      return {}
  }
}

const attributeConstraint = (
  { attributes }: ObjectConstraint,
  attributeName: string,
): ObjectConstraint | undefined => attributes.find(({ name }) => name === attributeName)?.children[0]

/** The number in a range that is closest to the wanted one. */
function nearestNumberInRange(range: Interval | undefined, target: number, step = 1): number {
  if (!range) return target
  const { lower, upper, lowerIncluded, upperIncluded } = range
  const least = (lower ?? Number.NEGATIVE_INFINITY) + (lowerIncluded ? 0 : step)
  const most = (upper ?? Number.POSITIVE_INFINITY) - (upperIncluded ? 0 : step)
  if (least > most) return ((lower ?? 0) + (upper ?? 0)) / 2
  return Math.min(Math.max(target, least), most)
}

function quantityValues({ quantity }: ObjectConstraint): AttributeValues {
  const [first] = quantity?.list ?? []
  const precision = first?.precision && nearestNumberInRange(first.precision, 0)
  const magnitude = nearestNumberInRange(first?.magnitude, 1)
  return { magnitude, units: first?.units || '1', ...(precision !== undefined && { precision }) }
}

function ordinalValues(node: ObjectConstraint, type: string): AttributeValues {
  const [first] = node.ordinals ?? []
  if (!first) return type === 'DV_SCALE' ? { value: 1.5 } : {}
  const { value, symbol } = first
  const text = findCodeTerm(node, symbol)?.text ?? symbol.code
  return { value, symbol: codedText(text, symbol.code, symbol.terminology || 'local') }
}

function codedValues(node: ObjectConstraint): AttributeValues {
  const code = attributeConstraint(node, 'defining_code')
  const defining_code = (code && constrainedCodePhrase(code)) ?? codePhrase('example', 'example')
  if (attributeConstraint(node, 'value')) return { defining_code }
  const { code_string, terminology_id } = defining_code
  const term = findCodeTerm(node, { terminology: terminology_id.value, code: code_string })
  const text = term?.text ?? code_string
  return { value: text || 'Example', defining_code }
}

function constrainedCodePhrase(node: ObjectConstraint): ReturnType<typeof codePhrase> | undefined {
  const { codes } = node
  if (!codes) return undefined
  return codePhrase(codes.terminology || 'local', codes.list[0] ?? 'example')
}

/** Types: 0 ratio, 1 unitary, 2 percent, 3 fraction, 4 integer fraction. */
function proportionValues(node: ObjectConstraint): AttributeValues {
  const kind = attributeConstraint(node, 'type')?.primitive
  const type = kind?.type === 'number' ? (kind.list?.[0] ?? 0) : 0
  const numberFor = (name: string, target: number) => {
    const primitive = attributeConstraint(node, name)?.primitive
    return primitive?.type === 'number'
      ? (primitive.list?.[0] ?? nearestNumberInRange(primitive.range, target))
      : target
  }
  return {
    type,
    numerator: numberFor('numerator', 1),
    denominator: type === 1 ? 1 : type === 2 ? 100 : numberFor('denominator', type === 0 ? 1 : 2),
  }
}

function primitiveValue(primitive: Primitive): unknown {
  switch (primitive.type) {
    case 'string':
      return primitive.list?.[0] ?? primitive.pattern ?? 'Example'
    case 'boolean':
      return primitive.trueValid
    case 'number':
      return primitive.list?.[0] ?? nearestNumberInRange(primitive.range, 1)
    case 'duration':
      return primitive.range?.lower ?? primitive.range?.upper ?? durationForPattern(primitive.pattern)
    default:
      return primitive.range?.lower ?? primitive.range?.upper ?? EXAMPLE_TIMES[primitive.type]
  }
}

const EXAMPLE_TIMES = {
  date: EXAMPLE_TIME.slice(0, 10),
  time: EXAMPLE_TIME.slice(11, 19),
  'date-time': EXAMPLE_TIME,
} as const

/** A duration of one unit: the first part that a pattern such as `PYMWD` or `PTHMS` allows. */
function durationForPattern(pattern = 'PD'): string {
  const [days = '', times = ''] = pattern.replace('P', '').split('/')[0]?.split('T') ?? []
  if (/[YMWD]/.test(days)) return `P1${/D/.test(days) ? 'D' : days[0]}`
  return times ? `PT1${times[0]}` : 'P1D'
}
