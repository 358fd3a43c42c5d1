import type { RegexBudget } from '@health-record-service/embedded-mongo/regex'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { type JsonLimits, walkJson } from '../../../schemas/json/walk-json.ts'
import type { Validator } from '../../../schemas/validation/validators.ts'
import { choiceViolation, type Violation, violationsFromAjv } from '../../../schemas/validation/violations.ts'
import { createValueKeywords } from './value-keywords.ts'
import { compilePattern, patternFault } from './value-patterns.ts'

/** A modeller's JSON Schema 2020-12; its size is limited, so that every check is fast. */
type ValueSchema = Readonly<Record<string, unknown>>

const MAX_SCHEMA_BYTES = 64 * 1024
const MAX_SUBSCHEMAS = 100
const MAX_CHOICES = 1000

/** The limits for any value, whatever its schema permits. */
const VALUE_LIMITS: JsonLimits = { depth: 16, values: 1000 }
/** Limit for one value; further violations would hardly tell anything new. */
const MAX_VIOLATIONS = 100

const SUBSCHEMA_KEYWORDS = [
  'not',
  'if',
  'then',
  'else',
  'items',
  'contains',
  'additionalProperties',
  'propertyNames',
]
const UNEVALUATED_KEYWORDS = ['unevaluatedItems', 'unevaluatedProperties']
const SUBSCHEMA_LIST_KEYWORDS = ['allOf', 'anyOf', 'oneOf', 'prefixItems']
const SUBSCHEMA_MAP_KEYWORDS = ['properties', 'patternProperties', 'dependentSchemas', '$defs']
const PLAIN_KEYWORDS = [
  'type',
  'enum',
  'const',
  'multipleOf',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'minLength',
  'maxLength',
  'pattern',
  'format',
  'minItems',
  'maxItems',
  'uniqueItems',
  'minContains',
  'maxContains',
  'minProperties',
  'maxProperties',
  'required',
  'dependentRequired',
  'title',
  'description',
  'default',
  'examples',
  'deprecated',
  '$comment',
  '$ref',
  '$schema',
]
const KEYWORDS = new Set([
  ...SUBSCHEMA_KEYWORDS,
  ...UNEVALUATED_KEYWORDS,
  ...SUBSCHEMA_LIST_KEYWORDS,
  ...SUBSCHEMA_MAP_KEYWORDS,
  ...PLAIN_KEYWORDS,
])
const FORMATS = ['date', 'time', 'date-time', 'duration', 'uuid'] as const
const REFERENCE_PATTERN = /^#\/\$defs\/([A-Za-z0-9_-]{1,64})$/

/** Thrown when the texts of a value would take too long for the patterns of its schema. */
class PatternStepsExceeded extends Error {}

/** The steps of all patterns on one value, about 10 ms: a value is checked without a pause. */
const MAX_PATTERN_STEPS = 2_000_000

/** The steps left on the value that is being checked. */
class PatternSteps implements RegexBudget {
  #left = MAX_PATTERN_STEPS

  /** @throws PatternStepsExceeded */
  consume(steps: number): void {
    this.#left -= steps
    if (this.#left < 0) throw new PatternStepsExceeded()
  }

  refill(): void {
    this.#left = MAX_PATTERN_STEPS
  }
}

/** A compiler whose patterns count their steps. */
const createAjv = (steps: PatternSteps, isForSchemas = false): Ajv2020 => {
  const regExp = (pattern: string) => {
    const expression = compilePattern(pattern)
    const test = (text: string): boolean => expression.test(text, steps)
    // Ajv takes patterns with the same text for the same pattern.
    return { test, toString: () => pattern }
  }
  const ajv = new Ajv2020({
    allErrors: true,
    strict: true,
    // Names, lists and types without effect are refused; these have one.
    strictRequired: false,
    strictTuples: false,
    allowUnionTypes: true,
    // Otherwise an object would have a property `constructor`.
    ownProperties: true,
    verbose: true,
    // The schema of schemas takes longest to compile.
    meta: isForSchemas,
    validateSchema: isForSchemas,
    code: { regExp: Object.assign(regExp, { code: 'counted' }) as never },
  })
  addFormats.default(ajv, [...FORMATS, 'regex', 'uri', 'uri-reference'])
  for (const definition of createValueKeywords()) ajv.removeKeyword(definition.keyword).addKeyword(definition)
  return ajv
}

/** Checks the schemas themselves. */
const schemaSteps = new PatternSteps()
const schemaAjv = createAjv(schemaSteps, true)

/** Whether the values that match the schema are numbers. */
export const isNumericSchema = (schema: ValueSchema): boolean =>
  schema.type === 'number' || schema.type === 'integer'

/** The violations of a schema, its size limits included. */
export function valueSchemaViolations(schema: ValueSchema): Violation[] {
  const violations = boundsViolations(schema)
  if (violations.length > 0) return violations
  schemaSteps.refill()
  try {
    if (schemaAjv.validateSchema(schema) !== true) return violationsFromAjv(schemaAjv.errors, MAX_VIOLATIONS)
    compileCheck(schema)
    return []
  } catch (error) {
    return [
      {
        path: '',
        code: 'schema',
        message:
          `is not a valid JSON Schema: ${(error as Error).message.replaceAll(/strict mode: | \(strictTypes\)/g, '')}`.slice(
            0,
            300,
          ),
      },
    ]
  }
}

/** Compiles a schema without violations to a check that returns all violations at once. */
export function compileCheck(schema: ValueSchema): Validator {
  const steps = new PatternSteps()
  const validate = createAjv(steps).compile(schema)
  return (value) => {
    const large = sizeViolation(value)
    if (large) return [large]
    steps.refill()
    try {
      return validate(value) ? [] : violationsFromAjv(validate.errors, MAX_VIOLATIONS)
    } catch (error) {
      if (!(error instanceof PatternStepsExceeded)) throw error
      return [{ path: '', code: 'pattern', message: 'has texts too long for the patterns of its schema' }]
    }
  }
}

function sizeViolation(value: unknown): Violation | undefined {
  let finite = true
  const exceededLimit = walkJson(value, VALUE_LIMITS, (one) => {
    if (typeof one === 'number' && !Number.isFinite(one)) finite = false
  })
  if (exceededLimit) return { path: '', code: exceededLimit, message: SIZE_MESSAGES[exceededLimit] }
  return finite ? undefined : { path: '', code: 'type', message: 'must contain finite numbers only' }
}

const SIZE_MESSAGES = {
  depth: `must not be nested deeper than ${VALUE_LIMITS.depth} levels`,
  values: `must not contain more than ${VALUE_LIMITS.values} values`,
}

function boundsViolations(schema: ValueSchema): Violation[] {
  if (Buffer.byteLength(JSON.stringify(schema)) > MAX_SCHEMA_BYTES)
    return [{ path: '', code: 'size', message: `must have at most ${MAX_SCHEMA_BYTES / 1024} KB` }]
  const violations: Violation[] = []
  const definitions = isObject(schema.$defs) ? schema.$defs : {}
  for (const [path, one] of walkSubschemas(schema))
    violations.push(...subschemaViolations(path, one, definitions))
  if (violations.length > 0) return violations.slice(0, MAX_VIOLATIONS)
  const count = countSubschemas(schema, definitions)
  if (count === undefined)
    return [
      { path: '$defs', code: 'recursion', message: 'must not refer to a schema that refers back to it' },
    ]
  if (count <= MAX_SUBSCHEMAS) return []
  const message = `must have at most ${MAX_SUBSCHEMAS} subschemas and further required names, each counted as often as it is referred to`
  return [{ path: '', code: 'subschemas', message }]
}

/** The violations of a subschema, without those of its own subschemas. */
function subschemaViolations(path: string, schema: ValueSchema, definitions: object): Violation[] {
  const violations: Violation[] = []
  const pathOf = (keyword: string) => (path === '' ? keyword : `${path}.${keyword}`)
  const fault = (keyword: string, code: string, message: string) =>
    violations.push({ path: pathOf(keyword), code, message })
  for (const keyword of Object.keys(schema))
    if (!KEYWORDS.has(keyword)) fault(keyword, 'unknown', 'is not a supported keyword of JSON Schema')
  const { $ref, $schema, $defs, pattern, patternProperties, format } = schema
  if ($schema !== undefined && $schema !== DIALECT) fault('$schema', 'const', `must be ${DIALECT}`)
  if ($defs !== undefined && path !== '') fault('$defs', 'place', 'must be at the root of the schema')
  if ($ref !== undefined && !Object.hasOwn(definitions, REFERENCE_PATTERN.exec(String($ref))?.[1] ?? ''))
    fault('$ref', 'reference', 'must name one of the definitions of this schema: #/$defs/<name>')
  if (format !== undefined && !FORMATS.includes(format as never))
    violations.push(choiceViolation(pathOf('format'), FORMATS))
  for (const keyword of ['enum', 'examples'])
    if (Array.isArray(schema[keyword]) && schema[keyword].length > MAX_CHOICES)
      fault(keyword, 'maxItems', `must have at most ${MAX_CHOICES} items`)
  const faultOfPattern = (keyword: string, one: unknown) => {
    const message = patternFault(one)
    if (message !== undefined) fault(keyword, 'pattern', message)
  }
  if (pattern !== undefined) faultOfPattern('pattern', pattern)
  for (const name of isObject(patternProperties) ? Object.keys(patternProperties) : [])
    faultOfPattern('patternProperties', name)
  return violations
}

const DIALECT = 'https://json-schema.org/draft/2020-12/schema'

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The direct subschemas, with their paths. */
function membersOf(schema: ValueSchema): [path: string, member: unknown][] {
  return Object.entries(schema).flatMap(([keyword, value]): [string, unknown][] => {
    if (SUBSCHEMA_KEYWORDS.includes(keyword) || UNEVALUATED_KEYWORDS.includes(keyword))
      return [[keyword, value]]
    const several = SUBSCHEMA_LIST_KEYWORDS.includes(keyword) && Array.isArray(value)
    if (!several && !(SUBSCHEMA_MAP_KEYWORDS.includes(keyword) && isObject(value))) return []
    return Object.entries(value as object).map(([name, member]) => [`${keyword}.${name}`, member])
  })
}

/** A schema and all subschemas in it; their depth is limited by the depth of a request body. */
function* walkSubschemas(schema: ValueSchema, path = ''): Generator<[path: string, schema: ValueSchema]> {
  yield [path, schema]
  for (const [name, member] of membersOf(schema))
    if (isObject(member)) yield* walkSubschemas(member, path === '' ? name : `${path}.${name}`)
}

/** Names that an object must have, and for which there is no subschema: each may be a violation. */
function countRequiredNames({ required, dependentRequired, properties }: ValueSchema): number {
  const lists = [required, ...(isObject(dependentRequired) ? Object.values(dependentRequired) : [])]
  const names = lists.flatMap((list) => (Array.isArray(list) ? list : []))
  return names.filter((name) => !Object.hasOwn(isObject(properties) ? properties : {}, name)).length
}

/** The number of subschemas that may check one value, references counted each time; undefined: unlimited. */
function countSubschemas(root: ValueSchema, definitions: Record<string, unknown>): number | undefined {
  const counts = new Map<unknown, number | undefined>()
  const count = (schema: unknown): number | undefined => {
    if (!isObject(schema)) return 1
    // A subschema that is still being counted refers to itself.
    if (counts.has(schema)) return counts.get(schema)
    counts.set(schema, undefined)
    const definitionName = REFERENCE_PATTERN.exec(String(schema.$ref ?? ''))?.[1]
    const inside = membersOf(schema).map(([, member]) => member)
    let sum: number | undefined = 1 + countRequiredNames(schema)
    for (const one of definitionName === undefined ? inside : [...inside, definitions[definitionName]]) {
      const more = count(one)
      sum = more === undefined || sum === undefined ? undefined : sum + more
    }
    counts.set(schema, sum)
    return sum
  }
  return count(root)
}
