import { type Static, type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox'
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
}

interface Found<T> {
  items: T[]
  /** The cursor of the next page; null on the last one. */
  next: string | null
  /** How many there are in all, when it was asked. */
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
  handle(
    input: Input<Path, P, Q, undefined> & { page: PageRequest },
    context: Context<A>,
  ): Found<Static<I>> | Promise<Found<Static<I>>>
}

const paging = {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1000, default: 100, description: 'Items at most', examples: [100] }),
  ),
  cursor: Type.Optional(
    Type.String({ maxLength: 1000, description: 'Where to go on: `page.next` of the answer before' }),
  ),
  count: Type.Optional(Type.Boolean({ description: 'Whether `page.total` is wanted', examples: [true] })),
}

const PageInfo = Type.Object(
  {
    limit: Type.Integer({ description: 'Items at most', examples: [100] }),
    total: Type.Optional(
      Type.Integer({ description: 'Items in all; only with `count=true`', examples: [1] }),
    ),
    next: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      description: 'The `cursor` of the next page; null on the last one',
      examples: [null],
    }),
  },
  { $id: 'PageInfo', additionalProperties: false, description: 'Which part of the list this is' },
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
  inPages(definition, paging, pageOf(definition.item), ({ items, next, total }, { limit }) => ({
    items,
    page: { limit, ...(total === undefined ? {} : { total }), next },
  }))

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
  const { item: _, handle, query, ...about } = definition
  return operation({
    ...(about as unknown as About<Access> & { path: string }),
    method: 'get',
    query: { ...query, ...parameters } as typeof paging,
    reply: [200, answered],
    handle: async (input, context) => {
      const { limit = 100, cursor, count = false, ...filters } = input.query
      const page = { limit, cursor, count }
      const own = { ...input, query: filters, page }
      const found = await handle(own as unknown as Parameters<typeof handle>[0], context as Context<A>)
      const { next } = found
      return answer(
        bodyOf(found, page),
        next === null ? {} : { headers: { link: nextLink(input.query, next) } },
      )
    },
  })
}

/** RFC 8288: the same list, asked to go on; relative to the request's own address. */
function nextLink(query: Readonly<Record<string, unknown>>, cursor: string): string {
  const texts = Object.entries({ ...query, cursor }).flatMap(([name, value]) =>
    [value].flat().map((one): [string, string] => [name, String(one)]),
  )
  return `<?${new URLSearchParams(texts)}>; rel="next"`
}
