import type { ClientSession } from 'mongodb'

type Write = (
  className: string,
  schema: unknown,
  object: { objectId?: unknown },
  ...rest: unknown[]
) => Promise<unknown>

/** The writes of one object by Parse Server's storage adapter; each takes a session as its last argument. */
export type WritingAdapter = Record<'createObject' | 'findOneAndUpdate' | 'deleteObjectsByQuery', Write>

/**
 * Does Parse Server's write as a part of something larger.
 * @param write Parse's own; it may be asked for again. What it finds nothing to write to is undefined.
 */
type Along = (write: (session: ClientSession) => Promise<unknown>) => Promise<unknown>

/** Announces that the next write of an object is a part of something larger. */
export type WriteAlong = (className: string, objectId: string, along: Along) => void

/** Announced at the same time; a write that Parse gives up after the triggers leaves its announcement behind. */
const mostAnnounced = 10_000

/** Lets triggers have Parse's writes take place in a transaction of theirs, with what belongs to them. */
export function writeAlong(adapter: WritingAdapter): WriteAlong {
  const announced = new Map<string, Along>()
  const take = (className: string, objectId: unknown): Along | undefined => {
    const key = `${className}$${objectId}`
    const along = announced.get(key)
    announced.delete(key)
    return along
  }
  // In all three the object, or the query for it, comes third, and its id stands in it.
  for (const name of ['createObject', 'findOneAndUpdate', 'deleteObjectsByQuery'] as const) {
    const write = adapter[name].bind(adapter)
    adapter[name] = (className, schema, object, ...rest) => {
      const along = announced.size > 0 ? take(className, object.objectId) : undefined
      if (!along) return write(className, schema, object, ...rest)
      const change = name === 'findOneAndUpdate' ? rest.slice(0, 1) : []
      return along((session) => write(className, schema, object, ...change, session))
    }
  }
  return (className, objectId, along) => {
    if (announced.size >= mostAnnounced) announced.delete(announced.keys().next().value ?? '')
    announced.set(`${className}$${objectId}`, along)
  }
}
