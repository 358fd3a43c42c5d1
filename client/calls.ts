import type { paths } from './generated/api.ts'
import type { Page } from './records/listing.ts'

type Method = 'get' | 'post' | 'put' | 'delete'
export type PathOf<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, unknown> ? P : never
}[keyof paths]
type OperationOf<P extends keyof paths, M extends Method> = M extends keyof paths[P] ? paths[P][M] : never

type Json<C> = C extends { 'application/json': infer J } ? J : C[keyof C]
type ContentOf<R> = R extends { content: infer C } ? Json<C> : undefined
type Success<O> = O extends { responses: infer R } ? { [S in keyof R]: ContentOf<R[S]> }[keyof R] : never

/** The response of the service to a method of a path. */
export type Answer<P extends keyof paths, M extends Method = 'get'> = Success<OperationOf<P, M>>

type Bytes = Blob | ArrayBuffer | Uint8Array<ArrayBuffer>
type ContentToSend<C> = C extends { 'application/json': infer J } ? J : C[keyof C] | Bytes
type BodyOption<O> = [O] extends [{ requestBody: { content: infer C } }]
  ? { body: ContentToSend<C> }
  : [O] extends [{ requestBody?: { content: infer C } }]
    ? { body?: ContentToSend<C> }
    : { body?: never }
type ParametersOf<O> = O extends { parameters: infer Parameters } ? Parameters : Record<never, never>
type ParamsOption<O> = [Record<never, never>] extends [ParametersOf<O>]
  ? { params?: ParametersOf<O> }
  : { params: ParametersOf<O> }

export interface CallOptions {
  signal?: AbortSignal | undefined
  headers?: Record<string, string> | undefined
}

/** Parameters of a call, without a body. */
export type ParamsOf<P extends keyof paths, M extends Method = 'get'> = ParamsOption<OperationOf<P, M>>

/** Parameters, body and options of a call. */
export type Init<P extends keyof paths, M extends Method = 'get'> = ParamsOf<P, M> &
  BodyOption<OperationOf<P, M>> &
  CallOptions

/** The body that a method of a path takes. */
export type Body<P extends keyof paths, M extends Method = 'post'> =
  OperationOf<P, M> extends { requestBody?: { content: infer C } } ? ContentToSend<C> : never

/** An argument that may be left out if nothing in it is required. */
export type OptionalInit<T> = [Record<never, never>] extends [T] ? [init?: T] : [init: T]

type Parsed<As, Data> = As extends 'json'
  ? Data
  : As extends 'blob'
    ? Blob
    : As extends 'text'
      ? string
      : ArrayBuffer

/** @throws Problem for every refusal and failure */
export type Call<M extends Method> = <
  P extends PathOf<M>,
  As extends 'json' | 'blob' | 'text' | 'arrayBuffer' = 'json',
>(
  path: P,
  ...init: OptionalInit<Init<P, M> & { parseAs?: As }>
) => Promise<{ data: Parsed<As, Answer<P, M>>; response: Response }>

export type ListPath = {
  [P in PathOf<'get'>]: Answer<P> extends Page<unknown> ? P : never
}[PathOf<'get'>]
export type ItemOf<P extends ListPath> = Answer<P> extends Page<infer Item> ? Item : never

export type UpdatePath = PathOf<'get'> & PathOf<'put'>
/**
 * Computes the new state; undefined leaves the record as it is. After a conflict it is called again: `conflict` is the
 * state that the change was computed from before.
 */
export type ChangeOf<P extends UpdatePath> = (
  current: Answer<P>,
  conflict: Answer<P> | undefined,
) => Body<P, 'put'> | undefined | Promise<Body<P, 'put'> | undefined>

export type FollowPath = PathOf<'get'> & `${string}/changes`

/** A change of a record of an EHR, as `client.follow` tells it. */
export type Change = Answer<'/ehr/{ehrId}/changes'>
