import { type Static, type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox'
import type { ErrorName } from '../../schemas/errors.ts'
import type { Violation } from '../../schemas/violation.ts'
import type { Reply, ReplySpec } from '../answer/answer.ts'
import type { Form, Raw, RawContent } from '../answer/media.ts'
import { type Access, fits } from './access.ts'
import type { Context } from './context.ts'
import { parameters } from './parameters.ts'

export type Method = 'get' | 'post' | 'put' | 'delete'

/** A JSON schema, a form's schema, or media types whose bytes reach the handler as they came. */
export type BodySpec = TSchema | Form<TSchema> | Raw

type BodyOf<B> = B extends Raw
  ? RawContent
  : B extends Form<infer S>
    ? Static<S>
    : B extends TSchema
      ? Static<B>
      : undefined

type NameIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | NameIn<Rest>
  : never

export interface Input<Path extends string, P extends TProperties, Q extends TProperties, B> {
  params: { [Name in NameIn<Path>]: Name extends keyof P ? Static<P[Name]> : string }
  query: Static<TObject<Q>>
  body: BodyOf<B>
}

/** What an operation says about itself, apart from the types of its input and its reply. */
export interface About<A extends Access> {
  /** verbNoun, unique. */
  id: string
  method: Method
  summary: string
  /** More for the reader of the documentation, in Markdown. */
  description?: string
  /** The clause of the specification that asks for it. */
  source: string
  /** The kind of record whose plain operation it is. */
  kind?: string
  /** Beyond the specification's list. */
  extra?: true
  /** Who may call it: a row of access.ts. */
  access: A
  /** What it may answer besides the errors that follow from its shape (see problem.ts). */
  errors?: readonly ErrorName[]
  /** `required`: without If-Match the answer is 428. */
  ifMatch?: 'required'
  /** A PUT that makes what is not there yet: then it answers 201, and `If-None-Match: *` lets it do nothing else. */
  creates?: true
  /** A stream that goes on behind the event of `Last-Event-ID`. */
  resumes?: true
  /** When a GET answers 204: what it shows has been there. */
  gone?: string
  /** The limits of the body; by default 1 MB, 32 levels and 20,000 values. */
  limits?: Partial<BodyLimits>
  /** How long a query may take; by default 5 s. */
  deadlineMs?: number
  /** What the schemas of the query's parameters cannot say; some of them may not fit theirs. */
  queryRules?(query: Readonly<Record<string, unknown>>): Violation[]
}

/** How large a body may be, inflated, and how deeply nested, with how many values, when it is JSON. */
export interface BodyLimits {
  bytes: number
  depth: number
  values: number
}

const usualLimits: Readonly<BodyLimits> = { bytes: 1024 * 1024, depth: 32, values: 20_000 }

interface Definition<
  Path extends string,
  P extends TProperties,
  Q extends TProperties,
  B extends BodySpec | undefined,
  R extends ReplySpec,
  A extends Access,
> extends About<A> {
  /** `/profile/{mvUid}`; the parameters' schemas stand in parameters.ts. */
  path: Path
  params?: P
  query?: Q
  body?: B
  /** Status, body, and `versioned` where the answer carries an ETag. */
  reply: R
  /**
   * Marks what invites guessing or mass mailing: it may be called but rarely from one address, and for one account,
   * which this names (an e-mail address, say) when the input tells.
   */
  guarded?(input: Input<Path, P, Q, B>): string | undefined
  /** What else is wrong with a body that does not fit its schema, so that all of it is told at once. */
  brokenBeside?(body: object, bySchema: readonly Violation[]): Violation[]
  handle(input: Input<Path, P, Q, B>, context: Context<A>): Reply<R> | Promise<Reply<R>>
}

interface AnyInput {
  params: object
  query: object
  body: unknown
}

/** An operation as the router, the OpenAPI document and the contract tests see it. */
export interface Operation extends About<Access> {
  path: string
  limits: BodyLimits
  params: TObject
  query: TObject
  body: BodySpec | undefined
  reply: ReplySpec
  guarded?(input: AnyInput): string | undefined
  brokenBeside?(body: object, bySchema: readonly Violation[]): Violation[]
  handle(input: AnyInput, context: Context): unknown
}

/** The names of the parameters in a path template, in their order. */
export const namesIn = (path: string): string[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '')

/**
 * One operation of the path family as a value. The handler gets validated, typed input and returns a value.
 *
 * @throws when a path parameter has no schema, or the access does not protect the EHR that the path names
 */
export function operation<
  const Path extends string,
  const R extends ReplySpec,
  const A extends Access,
  P extends TProperties = Record<never, never>,
  Q extends TProperties = Record<never, never>,
  B extends BodySpec | undefined = undefined,
>(definition: Definition<Path, P, Q, B, R, A>): Operation {
  const { params: own = {}, query = {}, body, limits, path, id, access } = definition
  const params = Object.fromEntries(
    namesIn(path).map((name) => {
      const schema = (own as TProperties)[name] ?? parameters[name]
      if (schema === undefined) throw new Error(`${id}: the path parameter ${name} has no schema`)
      return [name, schema]
    }),
  )
  if (!fits(access, params)) throw new Error(`${id}: the access ${access} does not fit the path`)
  const closed = { additionalProperties: false }
  return {
    ...(definition as unknown as Operation),
    params: Type.Object(params, closed),
    query: Type.Object(query, closed),
    body,
    limits: { ...usualLimits, ...limits },
  }
}
