import { type Static, type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox'
import type { Order } from '../../records/store/reading/listing.ts'
import { answer } from '../answer/answer.ts'
import type { Access } from './access.ts'
import type { Context } from './context.ts'
import { type About, type Input, type Operation, operation } from './operation.ts'

/** Which part of a list is asked for, as the stores' lists take it. */
interface PageRequest {
  limit: number
  /** Where the last page ended; undefined: from the start. */
  cursor: string | undefined
  /** Whether the client wants to know how many there are in all. */
  count: boolean
  /** Of a list that can be turned around. */
  order?: Order
}

interface Found<T> {
  items: T[]
  /** The cursor of the next page; null on the last one. */
  next: string | null
  /** The cursor of the page before; null on the first one, undefined where lists have none. */
  prev?: string | null
  /** How many there are in all, if requested. */
  total?: number
}

/** The same page with each record as clients see it. */
export const pageAs = <R, T>({ items, ...rest }: Found<R>, of: (record: R) => T): Found<T> => ({
  ...rest,
  items: items.map(of),
})

interface ListDefinition<
  Path extends string,
  P extends TProperties,
  Q extends TProperties,
  I extends TSchema,
  A extends Access,
> extends Omit<About<A>, 'method' | 'ifMatch' | 'limits'> {
  path: Path
  params?: P
  /** Filters; limit, cursor and count come by themselves. */
  query?: Q
  item: I
  /** Its usual order, when clients may turn it around, and go back in it. */
  order?: Order
  handle(
    input: Input<Path, P, Q, undefined> & { page: PageRequest },
    context: Context<A>,
  ): Found<Static<I>> | Promise<Found<Static<I>>>
}

export const paging = {
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1000,
      default: 100,
      description: 'Maximum number of items',
      examples: [100],
    }),
  ),
  cursor: Type.Optional(
    Type.String({
      ...{ maxLength: 1000, pattern: '^[A-Za-z0-9_-]*$' },
      description: 'Cursor: `page.next` of the previous answer',
    }),
  ),
  count: Type.Optional(
    Type.Boolean({ description: 'Whether to count all items, as `page.total`', examples: [true] }),
  ),
}

/** The order of a list that can be turned around. */
export const ordering = (usual: Order) => ({
  order: Type.Optional(
    Type.Unsafe<Order>({
      type: 'string',
      enum: ['asc', 'desc'],
      default: usual,
      description: 'Ascending or descending; a cursor keeps the order of the list that returned it',
    }),
  ),
})

export const PageInfo = Type.Object(
  {
    limit: Type.Integer({ description: 'Maximum number of items', examples: [100] }),
    total: Type.Optional(
      Type.Integer({ description: 'Number of all items; only with `count=true`', examples: [1] }),
    ),
    next: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      description: 'The `cursor` of the next page; null on the last one',
      examples: [null],
    }),
    prev: Type.Optional(
      Type.Unsafe<string | null>({
        type: ['string', 'null'],
        description:
          'The `cursor` of the previous page, of lists that can be paged in both directions; null on the first one',
        examples: [null],
      }),
    ),
    order: Type.Optional(
      Type.String({ description: 'asc or desc, of lists whose order can be chosen', examples: ['desc'] }),
    ),
  },
  { $id: 'PageInfo', additionalProperties: false, description: 'The position of this page in the list' },
)

/** A page of items, as every list answers it. */
const pageOf = (item: TSchema): TObject =>
  Type.Object(
    { items: Type.Array(item, { description: 'The items, in the order of the list' }), page: PageInfo },
    { additionalProperties: false, description: 'A page of a list' },
  )

/**
 * A list as an operation; paging and its answer are the same everywhere. A handler whose items come from a store is
 * `({ params: { ehrId }, page }, { caller, plans }) => plans.list(caller, 'newest', { where: { ehrId }, ...page })`.
 */
export const list = <
  const Path extends string,
  const A extends Access,
  I extends TSchema,
  P extends TProperties = Record<never, never>,
  Q extends TProperties = Record<never, never>,
>(
  definition: ListDefinition<Path, P, Q, I, A>,
): Operation =>
  inPages(
    definition,
    paging,
    pageOf(definition.item),
    ({ items, next, prev = null, total }, { limit, order }) => ({
      items,
      page: { limit, ...(total === undefined ? {} : { total }), next, ...(order && { prev, order }) },
    }),
  )

/** The same, answered as the items alone: where they go on is in the head (Link) only. */
export const array = <
  const Path extends string,
  const A extends Access,
  I extends TSchema,
  P extends TProperties = Record<never, never>,
  Q extends TProperties = Record<never, never>,
>(
  definition: ListDefinition<Path, P, Q, I, A>,
): Operation => {
  const { count: _, ...uncounted } = paging
  const items = Type.Array(definition.item, { description: 'The items, in the order of the list' })
  return inPages(definition, uncounted, items, ({ items }) => items)
}

function inPages<
  Path extends string,
  P extends TProperties,
  Q extends TProperties,
  I extends TSchema,
  A extends Access,
>(
  definition: ListDefinition<Path, P, Q, I, A>,
  parameters: Partial<typeof paging>,
  answered: TSchema,
  bodyOf: (found: Found<Static<I>>, page: PageRequest) => unknown,
): Operation {
  const { item: _, handle, query, order: usual, ...about } = definition
  return operation({
    ...(about as unknown as About<Access> & { path: string }),
    method: 'get',
    query: { ...query, ...parameters, ...(usual && ordering(usual)) } as typeof paging,
    reply: [200, answered],
    handle: async (input, context) => {
      const { limit = 100, cursor, count = false, order = usual, ...filters } = input.query as PageRequest
      const page = { limit, cursor, count, ...(order && { order }) }
      const own = { ...input, query: filters, page }
      const found = await handle(own as unknown as Parameters<typeof handle>[0], context as Context<A>)
      const links = order ? { prev: found.prev, next: found.next } : { next: found.next }
      return answer(bodyOf(found, page), linked(pathOf(definition.path, input.params), input.query, links))
    },
  })
}

/** RFC 8288: links to the next and previous page, paths of the same service as in Location. */
export function linked(
  path: string,
  query: Readonly<Record<string, unknown>>,
  links: Record<string, string | null | undefined>,
) {
  const link = Object.entries(links).flatMap(([rel, cursor]) => {
    if (cursor === null || cursor === undefined) return []
    return [`<${withQuery(path, { ...query, cursor })}>; rel="${rel}"`]
  })
  return link.length === 0 ? {} : { headers: { link: link.join(', ') } }
}

/** A path with what was asked of it. */
export function withQuery(path: string, query: Readonly<Record<string, unknown>>): string {
  const texts = Object.entries(query).flatMap(([name, value]) =>
    [value].flat().map((one): [string, string] => [name, String(one)]),
  )
  return texts.length === 0 ? path : `${path}?${new URLSearchParams(texts)}`
}

/** A path with its parameters in their places. */
export const pathOf = (template: string, params: object): string =>
  template.replace(/\{(\w+)\}/g, (_, name) =>
    encodeURIComponent(String((params as Record<string, unknown>)[name])),
  )
