import type { Answer, Body, ChangeOf, ItemOf, ListPath, ParamsOf, PathOf, UpdatePath } from '../calls.ts'
import type { paths } from '../generated/api.ts'
import { collectionPaths } from '../generated/collection-paths.ts'
import type { Listing } from './listing.ts'

type Path = keyof paths
/** The ids in a path. */
type Ids<P> = P extends `${string}{${string}}${infer Rest}` ? [id: string, ...Ids<Rest>] : []
type QueryOf<P extends Path> = ParamsOf<P> extends { params?: { query?: infer Query } } ? Query : never
type Version<I extends Path> = Body<I & Path, 'post'>
type Child<I extends string, Name extends string> = `${I}/${Name}` & Path

interface Lists<P extends ListPath> {
  /** The items of all pages, of those that the query selects. */
  list(...args: [...Ids<P>, query?: QueryOf<P>]): Listing<ItemOf<P>>
}
interface Adds<P extends Path> {
  add(...args: [...Ids<P>, body: Body<P>]): Promise<Answer<P, 'post'>>
}
interface Gets<I extends Path> {
  get(...ids: Ids<I>): Promise<Answer<I>>
}
interface Updates<I extends UpdatePath> {
  /** Reads, changes and writes an item. If somebody else has changed it meanwhile, it reads and asks again. */
  update(...args: [...Ids<I>, change: ChangeOf<I>]): Promise<Answer<I>>
}
interface Deletes<I extends Path> {
  delete(...args: [...Ids<I>, body?: Body<I, 'delete'>]): Promise<void>
}
interface HasHistory<I extends ListPath, Item extends Path> {
  /** The changes of an item, newest first, with the item before each. */
  history(...ids: Ids<Item>): Listing<ItemOf<I>>
}
interface Restores<R extends Path, Item extends Path> {
  /** Makes a former version the present one, also of a deleted item. */
  restore(...args: [...Ids<Item>, version: Version<R>]): Promise<Answer<R, 'post'>>
}

type If<P, Known, Methods> = [P] extends [never] ? unknown : [P] extends [Known] ? Methods : unknown
type Collection<P extends Path, I extends Path> = If<P, ListPath, Lists<P & ListPath>> &
  If<P, PathOf<'post'>, Adds<P>> &
  If<I, PathOf<'get'>, Gets<I>> &
  If<I, UpdatePath, Updates<I & UpdatePath>> &
  If<I, PathOf<'delete'>, Deletes<I>> &
  If<Child<I, 'history'>, ListPath, HasHistory<Child<I, 'history'> & ListPath, I>> &
  If<Child<I, 'restore'>, PathOf<'post'>, Restores<Child<I, 'restore'>, I>>

/** `client.bloodPressure.list(ehrId)`: the usual methods of each resource, with its ids in the order of the path. */
export type Collections = {
  [Name in keyof typeof collectionPaths]: Collection<
    (typeof collectionPaths)[Name][0],
    (typeof collectionPaths)[Name][1]
  >
}

type UntypedCall = (path: string, init: object) => Promise<{ data: unknown }>
/** The calls of the client, with paths that the compiler does not know. */
interface UntypedCalls {
  GET: UntypedCall
  POST: UntypedCall
  DELETE: UntypedCall
  list(path: string, init: object): Listing<unknown>
  update(path: string, init: object, change: never): Promise<unknown>
}

/** Splits the arguments into the ids of the path and what follows them. */
function readArguments(path: string, args: unknown[]): [init: { params: object }, rest: unknown] {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string)
  const ids = Object.fromEntries(names.map((name, index) => [name, args[index]]))
  return [{ params: { path: ids } }, args[names.length]]
}

function createCollection(list: string, item: string, calls: UntypedCalls) {
  const send =
    (call: UntypedCall, path: string) =>
    async (...args: unknown[]) => {
      const [init, body] = readArguments(path, args)
      return (await call(path, { ...init, body })).data
    }
  const listOf =
    (path: string) =>
    (...args: unknown[]) => {
      const [{ params }, query] = readArguments(path, args)
      return calls.list(path, { params: { ...params, query } })
    }
  return {
    list: listOf(list),
    add: send(calls.POST, list),
    get: send(calls.GET, item),
    update(...args: unknown[]) {
      const [init, change] = readArguments(item, args)
      return calls.update(item, init, change as never)
    },
    delete: send(calls.DELETE, item),
    history: listOf(`${item}/history`),
    restore: send(calls.POST, `${item}/restore`),
  }
}

export const createCollections = (calls: UntypedCalls): Collections =>
  Object.fromEntries(
    Object.entries(collectionPaths).map(([name, [list, item]]) => [
      name,
      createCollection(list, item, calls),
    ]),
  ) as unknown as Collections
