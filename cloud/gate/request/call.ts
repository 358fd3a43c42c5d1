/** A request, or a part of a batch; `carrier` is what has its body. */
export interface Call {
  method: unknown
  path: string
  carrier: { body?: unknown }
}
