import type { RecordIds, Schema } from './context/openapi-targets.ts'
import type { Random } from './context/random.ts'

const WORDS = [
  'Walk',
  'every day',
  'Zoë Đặng',
  'متابعة',
  '血圧',
  'e\u0301',
  '🩺',
  '<b>bold</b>',
  "O'Hara",
  '50 %',
  '\t',
]

/** Further field names for known values. */
const FIELD_ALIASES: Record<string, string> = {
  subjectId: 'mvUid',
  username: 'email',
  currentPassword: 'password',
  connectionMvUid: 'otherMvUid',
}

interface Options {
  resolve(schema: Schema): Schema
  /** Values for fields of these names. */
  facts: RecordIds
  /** The value of free texts; random if absent. */
  text?: string
}

/** Generates values that are usually valid by a schema. */
export class SchemaValues {
  readonly #random: Random
  readonly #options: Options

  constructor(random: Random, options: Options) {
    this.#random = random
    this.#options = options
  }

  of(reference: Schema, name = ''): unknown {
    const random = this.#random
    const schema = this.#options.resolve(reference) ?? {}
    const fact = this.#options.facts[FIELD_ALIASES[name] ?? name]
    if (fact !== undefined && this.#takesText(schema) && random.chance(0.9)) return fact
    if ('const' in schema) return schema.const
    if (Array.isArray(schema.enum)) return random.pick(schema.enum)
    const variants: unknown = schema.anyOf ?? schema.oneOf
    if (Array.isArray(variants)) return this.of(random.pick(variants), name)
    const isText = this.#takesText(schema)
    if (Array.isArray(schema.examples) && !(isText && this.#options.text) && random.chance(0.4))
      return this.#placed(random.pick(schema.examples))
    return this.#byType(schema, random.pick([schema.type].flat()))
  }

  /** An example of a whole record, with known values in place of its ids. */
  #placed(example: unknown): unknown {
    if (typeof example !== 'object' || example === null || Array.isArray(example)) return example
    const { facts } = this.#options
    const fields = Object.entries(example)
    return Object.fromEntries(
      fields.map(([name, value]) => [name, facts[FIELD_ALIASES[name] ?? name] ?? value]),
    )
  }

  /** A string schema without restrictions. */
  #takesText = ({ type, pattern, format, enum: values }: Schema): boolean =>
    [type].flat().includes('string') && values === undefined && (pattern ?? format ?? 'email') !== 'date'

  #byType(schema: Schema, type: string | undefined): unknown {
    const random = this.#random
    if (type === 'object') return this.#object(schema)
    if (type === 'array') {
      const { minItems = 0, maxItems = 3, items = {} } = schema
      const length = random.int(minItems, Math.min(maxItems, minItems + 3))
      return Array.from({ length }, () => this.of(items))
    }
    if (type === 'string') return this.#string(schema)
    if (type === 'integer' || type === 'number') return this.#number(schema, type)
    return type === 'boolean' ? random.chance(0.5) : null
  }

  #object({ properties = {}, required = [], patternProperties }: Schema): Record<string, unknown> {
    const random = this.#random
    const names = Object.keys(properties).filter((name) => required.includes(name) || random.chance(0.5))
    const ownEntries = names.map((name) => [name, this.of(properties[name], name)])
    const free =
      patternProperties || names.length === 0 ? [[`key${random.int(0, 9)}`, this.#text(1, 20)]] : []
    return Object.fromEntries([...ownEntries, ...free])
  }

  #string({ format, pattern, examples, minLength = 0, maxLength = 100 }: Schema): string {
    const random = this.#random
    const day = `20${random.int(10, 39)}-0${random.int(1, 9)}-${random.int(10, 28)}`
    const time = `${random.int(10, 23)}:${random.int(10, 59)}:${random.int(10, 59)}.${random.int(100, 999)}Z`
    if (format === 'date') return day
    if (format === 'date-time') return `${day}T${time}`
    if (format === 'email') return `fuzz-${random.hex(12)}@example.org`
    if (format === 'uri') return `https://example.org/${random.hex(4)}`
    if (format === 'language-tag') return random.pick(['en', 'nl', 'de-AT'])
    if (pattern && Array.isArray(examples)) return random.pick(examples)
    return this.#text(minLength, random.chance(0.02) ? maxLength : Math.min(maxLength, 60))
  }

  /** A text of at most `longest` code units, now and then exactly that long. */
  #text(shortest: number, longest: number): string {
    const random = this.#random
    if (this.#options.text !== undefined) return this.#options.text.slice(0, longest)
    const length = random.int(Math.min(shortest, longest), longest)
    let text = ''
    while (text.length < length) text += `${random.pick(WORDS)} `
    return text.slice(0, length).padEnd(shortest, '.')
  }

  #number({ minimum, maximum, exclusiveMinimum = 0, multipleOf = 0.1 }: Schema, type: string): number {
    const random = this.#random
    const least = minimum ?? exclusiveMinimum + 1
    const greatest = maximum ?? least + 200
    const edge = random.weighted([
      [8, undefined],
      [1, least],
      [1, greatest],
    ] as const)
    if (edge !== undefined) return edge
    const integer = random.int(least, greatest)
    return type === 'integer' || random.chance(0.7) ? integer : Number((integer + multipleOf).toFixed(2))
  }
}
