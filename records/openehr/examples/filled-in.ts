import { type Interval, type ObjectConstraint, type Primitive, termOf } from '../opt/constraints.ts'
import { AT, codedText, codePhrase } from './usual.ts'

type Values = Record<string, unknown>

/** What of a value follows from what the template says of it; of a primitive type its `value`. */
export function filledIn(node: ObjectConstraint, type: string): Values {
  if (node.primitive) return { value: primitiveValue(node.primitive) }
  switch (type) {
    case 'DV_QUANTITY':
      return quantity(node)
    case 'DV_ORDINAL':
    case 'DV_SCALE':
      return ordinal(node, type)
    case 'DV_CODED_TEXT':
      return coded(node)
    case 'CODE_PHRASE':
      return phrase(node) ?? {}
    case 'DV_PROPORTION':
      return proportion(node)
    case 'DV_INTERVAL':
      return { lower_included: true, upper_included: true, lower_unbounded: false, upper_unbounded: false }
    case 'DV_URI':
      return { value: 'https://example.org/' }
    case 'DV_TEXT':
      return attributeIn(node, 'value') ? {} : { value: 'Example' }
    default:
      return {}
  }
}

const attributeIn = ({ attributes }: ObjectConstraint, wanted: string): ObjectConstraint | undefined =>
  attributes.find(({ name }) => name === wanted)?.children[0]

/** The number nearest to the wanted one that lies in a range. */
function numberIn(range: Interval | undefined, wanted: number, step = 1): number {
  if (!range) return wanted
  const { lower, upper, lowerIncluded, upperIncluded } = range
  const least = lower === undefined ? Number.NEGATIVE_INFINITY : lowerIncluded ? lower : lower + step
  const most = upper === undefined ? Number.POSITIVE_INFINITY : upperIncluded ? upper : upper - step
  if (least > most) return ((lower ?? 0) + (upper ?? 0)) / 2
  return Math.min(Math.max(wanted, least), most)
}

function quantity({ quantity }: ObjectConstraint): Values {
  const [first] = quantity?.list ?? []
  const precision = first?.precision && numberIn(first.precision, 0)
  const magnitude = numberIn(first?.magnitude, 1)
  return { magnitude, units: first?.units || '1', ...(precision !== undefined && { precision }) }
}

function ordinal(node: ObjectConstraint, type: string): Values {
  const [first] = node.ordinals ?? []
  if (!first) return type === 'DV_SCALE' ? { value: 1.5 } : {}
  const { value, symbol } = first
  const text = termOf(node, symbol.code)?.text ?? symbol.code
  return { value, symbol: codedText(text, symbol.code, symbol.terminology || 'local') }
}

/** What codes of the openEHR terminology mean that templates like to name. */
const OPENEHR: Readonly<Record<string, string>> = {
  '433': 'event',
  '431': 'persistent',
  '451': 'episodic',
  '238': 'other care',
  '225': 'home',
  '524': 'initial',
  '526': 'planned',
  '245': 'active',
  '530': 'suspended',
  '531': 'aborted',
  '532': 'completed',
  '528': 'cancelled',
  '146': 'mean',
  '144': 'maximum',
  '145': 'minimum',
}

function coded(node: ObjectConstraint): Values {
  const code = attributeIn(node, 'defining_code')
  const defining_code = (code && phrase(code)) ?? codePhrase('example', 'example')
  if (attributeIn(node, 'value')) return { defining_code }
  const { code_string } = defining_code
  const text = termOf(node, code_string)?.text ?? OPENEHR[code_string] ?? code_string
  return { value: text || 'Example', defining_code }
}

function phrase(node: ObjectConstraint): ReturnType<typeof codePhrase> | undefined {
  const { codes } = node
  if (!codes) return undefined
  const [first] = codes.list
  const terminology = codes.terminology || 'local'
  return codePhrase(
    first === undefined && terminology === 'local' ? 'example' : terminology,
    first ?? 'example',
  )
}

/** The kinds: 0 ratio, 1 unitary, 2 percent, 3 fraction, 4 integer fraction. */
function proportion(node: ObjectConstraint): Values {
  const kind = attributeIn(node, 'type')?.primitive
  const type = kind?.type === 'number' ? (kind.list?.[0] ?? 0) : 0
  const of = (name: string, wanted: number) => {
    const found = attributeIn(node, name)?.primitive
    return found?.type === 'number' ? (found.list?.[0] ?? numberIn(found.range, wanted)) : wanted
  }
  return {
    type,
    numerator: of('numerator', 1),
    denominator: type === 1 ? 1 : type === 2 ? 100 : of('denominator', type === 0 ? 1 : 2),
  }
}

function primitiveValue(primitive: Primitive): unknown {
  switch (primitive.type) {
    case 'string':
      return primitive.list?.[0] ?? primitive.pattern ?? 'Example'
    case 'boolean':
      return primitive.trueValid
    case 'number':
      return primitive.list?.[0] ?? numberIn(primitive.range, 1)
    case 'duration':
      return primitive.range?.lower ?? primitive.range?.upper ?? durationAs(primitive.pattern)
    default:
      return primitive.range?.lower ?? primitive.range?.upper ?? MOMENTS[primitive.type]
  }
}

const MOMENTS = { date: AT.slice(0, 10), time: AT.slice(11, 19), 'date-time': AT } as const

/** One of the first part that a pattern, `PYMWD` or `PTHMS`, allows. */
function durationAs(pattern = 'PD'): string {
  const [days = '', times = ''] = pattern.replace('P', '').split('/')[0]?.split('T') ?? []
  if (/[YMWD]/.test(days)) return `P1${/D/.test(days) ? 'D' : days[0]}`
  return times ? `PT1${times[0]}` : 'P1D'
}
