import { type Static, type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox'
import type { ErrorName } from '../../schemas/errors.ts'
import { REQUEST_JSON_LIMITS } from '../../schemas/json/walk-json.ts'
import type { Violation } from '../../schemas/validation/violations.ts'
import type { FormBody, RawBody, RawContent } from '../reply/body-media.ts'
import type { Reply, ReplySpec } from '../reply/reply.ts'
import { type Access, isAccessApplicable } from './access.ts'
import type { Context } from './context.ts'
import { pathParameters } from './path-parameters.ts'

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete' | 'options'

/** Schema of a JSON body, of a form, or media types whose bytes reach the handler unchanged. */
export type BodySpec = TSchema | FormBody<TSchema> | RawBody

type BodyValue<B> = B extends RawBody
  ? RawContent
  : B extends FormBody<infer S>
    ? Static<S>
    : B extends TSchema
      ? Static<B>
      : undefined

type PathParameterName<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PathParameterName<Rest>
  : never

export interface OperationInput<Path extends string, P extends TProperties, Q extends TProperties, B> {
  params: { [Name in PathParameterName<Path>]: Name extends keyof P ? Static<P[Name]> : string }
  query: Static<TObject<Q>>
  body: BodyValue<B>
  /** Violations of the parameters that were left out, if the operation handles them. */
  violations?: readonly Violation[]
}

/** Description of an operation without the types of input and reply. */
export interface OperationDescription<A extends Access> {
  /** `verbNoun`, unique. */
  id: string
  method: Method
  summary: string
  /** Details for the documentation, in Markdown. */
  description?: string
  /** Clause of the specification that requires the operation, or the reason for one that is `extra`. */
  source: string
  /** Kind of record, if this is one of its record operations. */
  kind?: string
  /** The specification does not list the operation. */
  extra?: true
  /** Access rule, see access.ts. */
  access: A
  /** Errors besides those that follow from its shape (impliedErrors). */
  errors?: readonly ErrorName[]
  /** Id of another guarded operation that asks for the same; both share their limits. */
  countedAs?: string
  /** `required`: a request without If-Match gets a 428. */
  ifMatch?: 'required'
  /**
   * It may create the resource (201), or find that it exists. `If-None-Match: *` restricts a PUT to creation.
   */
  creates?: true
  /**
   * An operation of another API. `openehr`: errors, conditions and preferences follow ITS-REST, and connected systems
   * may call it. `fhir`: they follow FHIR R4, and apps may call it. `oauth`: errors follow RFC 6749.
   */
  api?: 'openehr' | 'fhir' | 'oauth'
  /** It takes query parameters with other names: the parameters of an AQL query, or what FHIR ignores. */
  openQuery?: true
  /** Parameters without a value count as absent, in query and form (RFC 6749, 3.1 and 3.2). */
  ignoresEmpty?: true
  /** The handler answers to invalid parameters: they are left out, and it gets the violations. */
  handlesViolations?: true
  /** A document for programs of everybody: returned whatever Accept says, and to pages of every origin. */
  publicDocument?: true
  /** A form that sets a cookie: browsers may send it from our own pages only. */
  setsCookie?: true
  /** A probe of the state of the service. It is served even while other requests are refused. */
  probe?: true
  /** A stream that resumes after the event of `Last-Event-ID`. */
  resumes?: true
  /** Description of the 202 that a GET returns while the resource is being prepared. */
  pending?: string
  /** Description of the 204 that a GET returns for a deleted resource. */
  gone?: string
  /** Description of the 303 that the operation may return in place of a page. */
  redirect?: string
  /** Further media types of a JSON body, whose content has another form than its schema shows. */
  alsoAs?: readonly string[]
  /** Limits of the body; default 1 MB, 32 levels and 20,000 values. */
  limits?: Partial<BodyLimits>
  /** Time limit of a query in milliseconds; default 5 s. */
  deadlineMs?: number
  /** Rules that the schemas of the query parameters cannot express. The values may violate their schemas. */
  queryRules?(query: Readonly<Record<string, unknown>>): Violation[]
}

/** Limits of a body after decompression; depth and values apply to JSON. */
export interface BodyLimits {
  bytes: number
  depth: number
  values: number
}

const DEFAULT_BODY_LIMITS: Readonly<BodyLimits> = { bytes: 1024 * 1024, ...REQUEST_JSON_LIMITS }

interface OperationDefinition<
  Path extends string,
  P extends TProperties,
  Q extends TProperties,
  B extends BodySpec | undefined,
  R extends ReplySpec,
  A extends Access,
> extends OperationDescription<A> {
  /** `/profile/{mvUid}`; path-parameters.ts has the schemas of common parameters. */
  path: Path
  params?: P
  query?: Q
  body?: B
  /** Status, body, and `versioned` if the response carries an ETag. */
  reply: R
  /** Converts valid path parameters, before rules and handlers see them. */
  mapParams?(params: Record<string, string>): Record<string, string>
  /**
   * Marks a guarded operation, which invites guessing or mass mailing. It is limited by address and by
   * account. Returns the account (an e-mail address, say) if the input names one.
   */
  guardedAccount?(input: OperationInput<Path, P, Q, B>): string | undefined
  /** The requests in a body with several, each of which counts against the limit of the account. */
  countRequests?(input: OperationInput<Path, P, Q, B>): number
  /** Further violations of a body that does not fit its schema, so that one response lists them all. */
  furtherViolations?(body: object, bySchema: readonly Violation[]): Violation[]
  /** Reads the resource of a PUT if no GET has the same path. */
  readCurrent?(input: OperationInput<Path, P, Q, B>, context: Context<A>): Reply<R> | Promise<Reply<R>>
  handle(input: OperationInput<Path, P, Q, B>, context: Context<A>): Reply<R> | Promise<Reply<R>>
}

interface AnyInput {
  params: object
  query: object
  body: unknown
}

/** An operation in the form for the router, the OpenAPI document and the contract tests. */
export interface Operation extends OperationDescription<Access> {
  path: string
  limits: BodyLimits
  params: TObject
  query: TObject
  body: BodySpec | undefined
  reply: ReplySpec
  mapParams?(params: Record<string, string>): Record<string, string>
  guardedAccount?(input: AnyInput): string | undefined
  countRequests?(input: AnyInput): number
  furtherViolations?(body: object, bySchema: readonly Violation[]): Violation[]
  readCurrent?(input: AnyInput, context: Context): unknown
  handle(input: AnyInput, context: Context): unknown
}

/** Whether the operation compares the versions of If-Match. */
export const isConditional = ({ method, errors = [] }: Pick<Operation, 'method' | 'errors'>): boolean =>
  method === 'put' || method === 'patch' || method === 'delete' || errors.includes('PreconditionFailed')

/** Names of the parameters of a path template, in order. */
export const pathParameterNames = (path: string): string[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '')

/**
 * Defines an operation of the path family as a value. The handler gets validated, typed input and returns a
 * value.
 *
 * @throws Error when a path parameter has no schema, or the access rule does not protect the EHR in the path
 */
export function defineOperation<
  const Path extends string,
  const R extends ReplySpec,
  const A extends Access,
  P extends TProperties = Record<never, never>,
  Q extends TProperties = Record<never, never>,
  B extends BodySpec | undefined = undefined,
>(definition: OperationDefinition<Path, P, Q, B, R, A>): Operation {
  const { params: ownParameters = {}, query = {}, body, limits, path, id, access } = definition
  const params = Object.fromEntries(
    pathParameterNames(path).map((name) => {
      const schema = (ownParameters as TProperties)[name] ?? pathParameters[name]
      if (schema === undefined)
        throw new Error(`${id}: give the path parameter ${name} a schema in params, or in path-parameters.ts`)
      return [name, schema]
    }),
  )
  if (!isAccessApplicable(access, params))
    throw new Error(`${id}: the access ${access} does not protect this path: choose another one in access.ts`)
  const closedOptions = { additionalProperties: false }
  return {
    ...(definition as unknown as Operation),
    params: Type.Object(params, closedOptions),
    query: Type.Object(query, definition.openQuery ? { additionalProperties: true } : closedOptions),
    body,
    limits: { ...DEFAULT_BODY_LIMITS, ...limits },
  }
}
