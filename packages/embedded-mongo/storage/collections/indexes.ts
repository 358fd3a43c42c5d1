/** Index definitions: checks specifications. */
import { type Document, Int32 } from 'bson'
import { isRegex } from '../../language/expressions/regex.ts'
import { compileFilter, type DocumentTest, isOperators } from '../../language/filters/matcher.ts'
import { isIndex, isNullish, isNumeric, isObject, isTruthy, toNumber } from '../../values/bson-values.ts'
import { type Collation, isEqual } from '../../values/compare.ts'
import { CommandError, fail } from '../../values/errors.ts'
import { collationOf, completeCollation } from '../../values/options/collation.ts'
import { boolean, type Check, flag, object } from '../../values/options/option-types.ts'

export interface Index {
  /** As listIndexes shows it. */
  spec: Document
  readonly name: string
  readonly fields: readonly string[]
  /** Some fields are dotted paths. */
  readonly hasDottedFields: boolean
  readonly descending: readonly boolean[]
  readonly unique: boolean
  readonly sparse: boolean
  readonly filter: DocumentTest | undefined
  readonly collation: Collation | undefined
  readonly space: number
  /** False while the index is being filled, and when it has been dropped: queries must not use it. */
  ready: boolean
  /** Some document has more than one key or an array, so bounds cannot be combined. */
  multikey: boolean
  /** The components in which arrays occurred; undefined: not tracked. */
  readonly arrays: Set<number> | undefined
  /** The components of which some key does not give its value back; undefined: not tracked. */
  readonly losses: Set<number> | undefined
  /** The array of documents whose elements have keys of their own; undefined: the fields name no such array. */
  readonly elements: Elements | undefined
  /** Some element of such an array has no key of its own, or several; undefined: not tracked. */
  uneven: boolean | undefined
  /** Some key was too long and was cut: its order cannot be trusted. */
  cut: boolean
  /** The engine counts the documents by their arrays in the first field. `untallied`: it left some out. */
  readonly tallied: boolean
  untallied: boolean
  /** The flags that are known to be on disk. */
  readonly storedFlags: Set<string>
}

/** Fields such as `e.f` and `e.g`, all of the elements of the array `e`. */
interface Elements {
  readonly root: string
  /** For each component: the field of an element; undefined: a top-level field. */
  readonly parts: readonly (string | undefined)[]
  /** The components that are fields of an element. */
  readonly components: ReadonlySet<number>
}

const elementsOf = (fields: readonly string[]): Elements | undefined => {
  const paths = fields.map((field) => field.split('.'))
  const roots = new Set(paths.flatMap(([root, part]) => (part === undefined ? [] : [root as string])))
  const [root] = roots
  const isPlain = paths.every(([first, part, more]) =>
    part === undefined ? first !== root : more === undefined && !isIndex(part),
  )
  if (root === undefined || roots.size > 1 || !isPlain) return undefined
  const parts = paths.map(([, part]) => part)
  const components = new Set([...parts.keys()].filter((at) => parts[at] !== undefined))
  return { root, parts, components }
}

const SUPPORTED_OPTIONS =
  'v key name unique sparse partialFilterExpression expireAfterSeconds collation background dropDups hidden ns'.split(
    ' ',
  )

/** Options of text, geo, wildcard and other unsupported indexes. */
const UNSUPPORTED_OPTIONS =
  'weights default_language language_override textIndexVersion 2dsphereIndexVersion bits min max bucketSize wildcardProjection storageEngine'.split(
    ' ',
  )

/**
 * Checks a specification from createIndexes and completes it.
 * @param collation of the collection
 * @throws 2, 9, 14, 67, 197
 */
export const checkIndexSpec = (input: Document, collation: Document | undefined): Document => {
  const spec = 'collation' in input || !collation ? input : { ...input, collation }
  const { key } = spec
  if (key === undefined) return fail(9, "The 'key' field is a required property of an index specification")
  if (!isObject(key)) return fail(14, "The field 'key' must be an object")
  const length = Object.keys(key).length
  if (length === 0) return fail(67, 'Index keys cannot be empty.')
  if (length > MAX_COMPONENTS)
    fail(13103, `too many components in an index key, the most is ${MAX_COMPONENTS}`)
  for (const [field, kind] of Object.entries(key)) checkIndexKey(field, kind)
  for (const option of Object.keys(spec)) {
    if (UNSUPPORTED_OPTIONS.includes(option))
      fail(67, `index option ${option} is not supported by this engine`)
    if (!SUPPORTED_OPTIONS.includes(option))
      fail(197, `The field '${option}' is not valid for an index specification. Specification: ${spec.name}`)
  }
  checkName(spec)
  checkVersion(spec)
  if (spec.sparse && spec.partialFilterExpression)
    fail(67, 'cannot mix "partialFilterExpression" and "sparse" options')
  for (const [option, check] of Object.entries(OPTION_TYPES))
    if (option in spec) check(spec[option], `createIndexes.indexes.${option}`)
  if (spec.partialFilterExpression) checkPartial(spec.partialFilterExpression)
  if (spec.collation && Object.keys(spec.collation).length === 0)
    fail(2, 'the collation of an index must not be empty')
  const indexCollation = collationOf(spec.collation)
  if (isIdKey(key)) {
    checkIdIndex(spec)
    if (indexCollation !== collationOf(collation))
      fail(67, 'The _id index must have the collation of its collection')
    return { v: 2, key, name: '_id_' }
  }
  checkTtl(spec, length)
  const { v: _v, ns: _ns, dropDups: _dropDups, ...rest } = spec
  if (rest.collation) rest.collation = completeCollation(rest.collation)
  // MongoDB does not store options that equal their default.
  if (rest.hidden === false) delete rest.hidden
  if (!isNullish(rest.expireAfterSeconds))
    rest.expireAfterSeconds = new Int32(Math.trunc(toNumber(rest.expireAfterSeconds)))
  return { v: 2, ...rest }
}

const MAX_COMPONENTS = 32

const OPTION_TYPES: Readonly<Record<string, Check>> = {
  partialFilterExpression: object,
  collation: object,
  unique: flag,
  sparse: flag,
  background: flag,
  hidden: boolean,
}

/** @throws 9, 14, 67, 2 */
export const checkName = ({ name, key }: Document): void => {
  if (name === undefined) fail(9, "The 'name' field is a required property of an index specification")
  if (typeof name !== 'string') fail(14, "The field 'name' must be a string")
  if (name === '') fail(67, 'The index name must be a non-empty string')
  if (name === '_id_' && !isIdKey(key)) fail(2, 'The index name _id_ is reserved for the _id index')
}

/** @throws 2, 14, 67 */
export const checkVersion = ({ v }: Document): void => {
  if (v === undefined) return
  if (!isNumeric(v)) fail(14, "The field 'v' must be a number")
  const version = toNumber(v)
  if (!Number.isInteger(version)) fail(2, 'Index version must be an integer')
  if (version !== 1 && version !== 2) fail(67, `Invalid index specification version ${version}`)
}

/** Only 1 and -1 make an index the id index; any other number makes an ordinary one. */
const isIdKey = (key: Document): boolean =>
  isEqual(Object.keys(key), ['_id']) && isNumeric(key._id) && Math.abs(Math.trunc(toNumber(key._id))) === 1

const ID_INDEX_OPTIONS = ['v', 'key', 'name', 'ns', 'collation']

/** A specification of the id index must equal the built-in one. @throws 2, 197 */
export const checkIdIndex = (spec: Document): void => {
  for (const option of Object.keys(spec))
    if (!ID_INDEX_OPTIONS.includes(option))
      fail(197, `The field '${option}' is not valid for an _id index specification`)
  if (!isIdKey(spec.key) || toNumber(spec.key._id) !== 1) fail(2, 'The _id index must have the key {_id: 1}')
}

const PARTIAL_FILTER_OPERATORS = [
  '$eq',
  '$exists',
  '$gt',
  '$gte',
  '$lt',
  '$lte',
  '$type',
  '$in',
  '$all',
  '$and',
  '$or',
]

/** Allows only conditions that the planner can compare with a query. @throws 67 */
const checkPartial = (filter: unknown): void => {
  if (!isObject(filter)) throw new CommandError(67, "The field 'partialFilterExpression' must be an object")
  for (const [key, value] of Object.entries(filter)) {
    if (key === '$expr') fail(224, '$expr is not allowed in a partial index')
    if (key.startsWith('$')) {
      if (!PARTIAL_FILTER_OPERATORS.includes(key))
        fail(67, `Expression not supported in partial index: ${key}`)
      if (Array.isArray(value)) value.forEach(checkPartial)
    } else if (isRegex(value)) fail(67, 'Expression not supported in partial index: $regex')
    else if (isOperators(value)) {
      for (const [operator, operand] of Object.entries(value))
        if (!PARTIAL_FILTER_OPERATORS.includes(operator) || (operator === '$exists' && !isTruthy(operand)))
          fail(67, `Expression not supported in partial index: ${operator}`)
    }
  }
  compileFilter(filter)
}

const checkTtl = ({ expireAfterSeconds: seconds }: Document, length: number): void => {
  if (seconds === undefined) return
  if (!isNumeric(seconds) || !(toNumber(seconds) >= 0 && toNumber(seconds) <= 2 ** 31 - 1))
    fail(67, 'TTL index expireAfterSeconds must be a number of seconds between 0 and 2147483647')
  if (length > 1) fail(67, 'TTL indexes are single-field indexes, compound indexes do not support TTL')
}

const checkIndexKey = (field: string, kind: unknown): void => {
  if (field.includes('$**')) fail(67, 'wildcard indexes are not supported by this engine')
  if (typeof kind === 'string') fail(67, `index type '${kind}' is not supported by this engine`)
  if (!isNumeric(kind) || toNumber(kind) === 0 || Number.isNaN(toNumber(kind)))
    fail(67, 'Values in v:2 index key pattern must be numbers other than 0')
  if (field === '' || field.split('.').includes('')) fail(67, 'Index keys cannot contain an empty field.')
  for (const [at, part] of field.split('.').entries())
    if (part.startsWith('$') && !(at > 0 && ['$ref', '$id', '$db'].includes(part)))
      fail(67, `Index key contains an illegal field name: field name starts with '$'.`)
}

export const buildIndex = (
  spec: Document,
  space: number,
  { tracksArrays = true, tracksLosses = true, tracksElements = true, tallied = false } = {},
): Index => ({
  spec,
  name: spec.name,
  fields: Object.keys(spec.key),
  elements: elementsOf(Object.keys(spec.key)),
  uneven: tracksElements && elementsOf(Object.keys(spec.key)) ? false : undefined,
  hasDottedFields: Object.keys(spec.key).some((field) => field.includes('.')),
  descending: Object.values(spec.key).map((direction) => toNumber(direction) < 0),
  unique: isTruthy(spec.unique) || spec.name === '_id_',
  sparse: isTruthy(spec.sparse),
  filter: isNullish(spec.partialFilterExpression)
    ? undefined
    : compileFilter(spec.partialFilterExpression, { collation: collationOf(spec.collation) }),
  collation: collationOf(spec.collation),
  space,
  ready: true,
  multikey: false,
  arrays: tracksArrays ? new Set() : undefined,
  losses: tracksLosses ? new Set() : undefined,
  cut: false,
  tallied,
  untallied: false,
  storedFlags: new Set(),
})

/** Checks an index that a query walks. @throws 175 if it has been dropped since */
export const checkNotDropped = ({ ready, name }: Index): void => {
  if (!ready) fail(175, `query plan killed :: caused by :: index '${name}' dropped`)
}

/** Whether a document may have several keys because of this component. */
export const mayHoldArrays = ({ multikey, arrays }: Index, component: number): boolean =>
  multikey && (arrays?.has(component) ?? true)

/** Whether the keys contain the values of this component. Null is ambiguous: the field may be missing. */
export const containsValues = (index: Index, component: number): boolean =>
  !index.cut && index.losses?.has(component) === false && !mayHoldArrays(index, component)

const sameKey = (a: Document, b: Document): boolean =>
  JSON.stringify(Object.entries(a.key).map(([field, kind]) => [field, toNumber(kind)])) ===
  JSON.stringify(Object.entries(b.key).map(([field, kind]) => [field, toNumber(kind)]))

/** The options that distinguish two indexes on the same key. */
const sameScope = (a: Document, b: Document): boolean =>
  isTruthy(a.unique) === isTruthy(b.unique) &&
  isTruthy(a.sparse) === isTruthy(b.sparse) &&
  isEqual(a.partialFilterExpression, b.partialFilterExpression) &&
  collationOf(a.collation) === collationOf(b.collation)

/**
 * Returns whether the index already exists.
 * @throws 86 for a name in use, 85 for an index that differs only in its options
 */
export const alreadyExists = (indexes: readonly Index[], spec: Document): boolean => {
  for (const { spec: existing } of indexes) {
    const same = sameKey(existing, spec) && sameScope(existing, spec)
    if (existing.name === spec.name) {
      if (existing.name === '_id_' && sameKey(existing, spec)) return true
      if (!same) fail(86, `An existing index has the same name as the requested index: ${spec.name}`)
      const alike = isTruthy(existing.hidden) === isTruthy(spec.hidden)
      if (alike && isEqual(existing.expireAfterSeconds, spec.expireAfterSeconds)) return true
      fail(85, `Index ${spec.name} already exists with different options`)
    }
    if (same) fail(85, `Index already exists with a different name: ${existing.name}`)
  }
  return false
}
