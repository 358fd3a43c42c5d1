/** Parse Server's conversion of conditions to a filter of the database. */
export interface QueryConversion {
  transformWhere(className: string, where: object | null, ...more: unknown[]): object
}

type Where = Readonly<Record<string, unknown>>

const CONNECTIVES = new Set(['$or', '$and', '$nor'])
const ENCODED = /^_x_([0-9a-f]{4})*$/

/** Parse Server refuses other characters in a condition's key, though objects may have properties with any names. */
const encodePart = (part: string): string =>
  /^\w+$/.test(part) && !ENCODED.test(part) ? part : `_x_${Buffer.from(part, 'utf16le').toString('hex')}`

const decodePart = (part: string): string =>
  ENCODED.test(part) ? Buffer.from(part.slice(3), 'hex').toString('utf16le') : part

function mapKeys(
  where: Where,
  mapPart: (part: string) => string,
  mapConstraint = (constraint: unknown) => constraint,
): Where {
  const entries = Object.entries(where).map(([key, value]) => {
    if (CONNECTIVES.has(key))
      return [key, (value as Where[]).map((one) => mapKeys(one, mapPart, mapConstraint))]
    const [root, ...parts] = key.split('.')
    return [[root, ...parts.map(mapPart)].join('.'), mapConstraint(value)]
  })
  return Object.fromEntries(entries)
}

/** Encodes the keys of checked conditions, also in subqueries. */
export const encodeQueryKeys = (where: Where): Where => mapKeys(where, encodePart, encodeSubqueries)

function encodeSubqueries(constraint: unknown): unknown {
  if (constraint === null || typeof constraint !== 'object' || Array.isArray(constraint)) return constraint
  const entries = Object.entries(constraint).map(([operator, operand]) => {
    if (operator === '$inQuery' || operator === '$notInQuery') return [operator, encodeSubquery(operand)]
    if (operator === '$select' || operator === '$dontSelect')
      return [operator, { ...operand, query: encodeSubquery(operand.query) }]
    return [operator, operand]
  })
  return Object.fromEntries(entries)
}

const encodeSubquery = (query: { where?: Where }) =>
  query.where === undefined ? query : { ...query, where: encodeQueryKeys(query.where) }

/** Lets Parse Server decode the keys after it has checked them. */
export function decodeQueryKeys(conversion: QueryConversion): void {
  const { transformWhere } = conversion
  conversion.transformWhere = (className, where, ...more) =>
    transformWhere(className, where && mapKeys(where as Where, decodePart), ...more)
}
