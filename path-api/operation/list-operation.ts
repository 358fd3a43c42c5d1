import { type Static, type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox'
import type { SortOrder } from '../../records/store/reading/pages.ts'
import { replyWith } from '../reply/reply.ts'
import type { Access } from './access.ts'
import type { Context } from './context.ts'
import {
  defineOperation,
  type Operation,
  type OperationDescription,
  type OperationInput,
} from './operation.ts'

/** Requested page of a list, in the form of the stores. */
interface PageRequest {
  limit: number
  /** End of the previous page; undefined: from the start. */
  cursor: string | undefined
  /** True to count all items. */
  count: boolean
  /** Only for lists whose order clients can choose. */
  order?: SortOrder
}

interface FoundPage<T> {
  items: T[]
  /** Cursor of the next page; null on the last page. */
  next: string | null
  /** Cursor of the previous page; null on the first page, undefined in lists without backward paging. */
  prev?: string | null
  /** Total number of items, if requested. */
  total?: number
}

/** Converts each record of a page into its representation. */
export const mapPage = <R, T>({ items, ...rest }: FoundPage<R>, toItem: (record: R) => T): FoundPage<T> => ({
  ...rest,
  items: items.map(toItem),
})

interface ListDefinition<
  Path extends string,
  P extends TProperties,
  Q extends TProperties,
  I extends TSchema,
  A extends Access,
> extends Omit<OperationDescription<A>, 'method' | 'ifMatch' | 'limits'> {
  path: Path
  params?: P
  /** Filters. The function adds limit, cursor and count. */
  query?: Q
  item: I
  /** Counting would take too long. */
  uncounted?: true
  /** Default order; only for lists that can be reversed and paged backwards. */
  order?: SortOrder
  handle(
    input: OperationInput<Path, P, Q, undefined> & { page: PageRequest },
    context: Context<A>,
  ): FoundPage<Static<I>> | Promise<FoundPage<Static<I>>>
}

export const pagingParameters = {
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
      maxLength: 1000,
      pattern: '^[A-Za-z0-9_-]+$',
      description: 'Cursor: `page.next` of the previous response',
    }),
  ),
  count: Type.Optional(
    Type.Boolean({
      description: 'True to include the number of all items as `page.total`',
      examples: [true],
    }),
  ),
}

const { count: _count, ...uncountedParameters } = pagingParameters

/** Parameter for the order of a reversible list. */
export const createOrderParameter = (usual: SortOrder) => ({
  order: Type.Optional(
    Type.Unsafe<SortOrder>({
      type: 'string',
      enum: ['asc', 'desc'],
      default: usual,
      description:
        'Sort order, ascending or descending; a cursor keeps the order of the list that returned it',
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
      description: 'Cursor of the next page; null on the last page',
      examples: [null],
    }),
    prev: Type.Optional(
      Type.Unsafe<string | null>({
        type: ['string', 'null'],
        description:
          'Cursor of the previous page, in lists that can be paged in both directions; null on the first page',
        examples: [null],
      }),
    ),
    order: Type.Optional(
      Type.String({
        description: 'Sort order, asc or desc, in lists whose order can be chosen',
        examples: ['desc'],
      }),
    ),
  },
  { $id: 'PageInfo', additionalProperties: false, description: 'Position of this page in the list' },
)

/** Response of every list. */
const createPageSchema = (item: TSchema): TObject =>
  Type.Object(
    { items: Type.Array(item, { description: 'Items in the order of the list' }), page: PageInfo },
    { additionalProperties: false, description: 'A page of a list' },
  )

type ListDefiner = <
  const Path extends string,
  const A extends Access,
  I extends TSchema,
  P extends TProperties = Record<never, never>,
  Q extends TProperties = Record<never, never>,
>(
  definition: ListDefinition<Path, P, Q, I, A>,
) => Operation

/**
 * Defines a list operation with uniform paging. A handler whose items come from a store is `({ params: {
 * ehrId }, page }, { caller, plans }) => plans.list(caller, 'newest', { where: { ehrId }, ...page })`.
 */
export const defineListOperation: ListDefiner = (definition) =>
  definePagedOperation(
    definition,
    definition.uncounted ? uncountedParameters : pagingParameters,
    createPageSchema(definition.item),
    ({ items, next, prev = null, total }, { limit, order }) => ({
      items,
      page: { limit, ...(total === undefined ? {} : { total }), next, ...(order && { prev, order }) },
    }),
  )

/** Like defineListOperation, but returns the items only. The header Link contains the next page. */
export const defineArrayOperation: ListDefiner = (definition) => {
  const items = Type.Array(definition.item, { description: 'Items in the order of the list' })
  return definePagedOperation(definition, uncountedParameters, items, ({ items }) => items)
}

function definePagedOperation<
  Path extends string,
  P extends TProperties,
  Q extends TProperties,
  I extends TSchema,
  A extends Access,
>(
  definition: ListDefinition<Path, P, Q, I, A>,
  parameters: Partial<typeof pagingParameters>,
  replySchema: TSchema,
  bodyOf: (foundPage: FoundPage<Static<I>>, page: PageRequest) => unknown,
): Operation {
  const { item: _, uncounted: __, handle, query, order: defaultOrder, ...description } = definition
  return defineOperation({
    ...(description as unknown as OperationDescription<Access> & { path: string }),
    method: 'get',
    query: {
      ...query,
      ...parameters,
      ...(defaultOrder && createOrderParameter(defaultOrder)),
    } as typeof pagingParameters,
    reply: [200, replySchema],
    handle: async (input, context) => {
      const {
        limit = 100,
        cursor,
        count = false,
        order = defaultOrder,
        ...filters
      } = input.query as PageRequest
      const page = { limit, cursor, count, ...(order && { order }) }
      const listInput = { ...input, query: filters, page }
      const foundPage = await handle(
        listInput as unknown as Parameters<typeof handle>[0],
        context as Context<A>,
      )
      const links = order ? { prev: foundPage.prev, next: foundPage.next } : { next: foundPage.next }
      return replyWith(
        bodyOf(foundPage, page),
        createLinkHead(fillPath(definition.path, input.params), input.query, links),
      )
    },
  })
}

/** Link header (RFC 8288) with relative links to the next and previous page, as in Location. */
export function createLinkHead(
  path: string,
  query: Readonly<Record<string, unknown>>,
  links: Record<string, string | null | undefined>,
) {
  const link = Object.entries(links).flatMap(([rel, cursor]) => {
    if (cursor === null || cursor === undefined) return []
    return [`<${appendQuery(path, { ...query, cursor })}>; rel="${rel}"`]
  })
  return link.length === 0 ? {} : { headers: { link: link.join(', ') } }
}

/** Appends query parameters to a path. */
export function appendQuery(path: string, query: Readonly<Record<string, unknown>>): string {
  const texts = Object.entries(query).flatMap(([name, value]) =>
    [value].flat().map((one): [string, string] => [name, String(one)]),
  )
  return texts.length === 0 ? path : `${path}?${new URLSearchParams(texts)}`
}

/** Replaces the parameters of a path template by their values. */
export const fillPath = (template: string, params: object): string =>
  template.replace(/\{(\w+)\}/g, (_, name) =>
    encodeURIComponent(String((params as Record<string, unknown>)[name])),
  )
