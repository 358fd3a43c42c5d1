import type { Family } from './fuzz-request.ts'

// biome-ignore lint/suspicious/noExplicitAny: a JSON schema, or a part of an OpenAPI document, as served
export type Schema = any

/** An operation of the served OpenAPI document. */
export interface FuzzedOperation {
  id: string
  family: Family
  method: string
  /** Such as `/ehr/{ehrId}/careplan`. */
  path: string
  parameters: { name: string; in: string; required: boolean; schema: Schema }[]
  /** The schema of the body, by media type. */
  bodies: Record<string, Schema>
  page: boolean
}

/** Different names of the same id. */
const ID_ALIASES: Record<string, string> = { careplanId: 'carePlanId', ownerId: 'carePlanId' }

const canonicalIdName = (name: string): string => ID_ALIASES[name] ?? name

/** The ids that identify a record, under the names in request bodies. */
export type RecordIds = Readonly<Record<string, string>>

/** `carePlanId`: the name for the id of a class's objects. */
export const idNameOfClass = (className: string): string =>
  `${className.charAt(0).toLowerCase()}${className.slice(1)}Id`

const DOCUMENTED_METHODS = ['get', 'post', 'put', 'delete']

/** The served document, as the source of requests. */
export class OpenApi {
  readonly targets: FuzzedOperation[]
  readonly #document: Schema
  readonly #templates: { path: string; pattern: RegExp; names: string[] }[]

  constructor(document: Schema) {
    this.#document = document
    this.targets = Object.entries<Schema>(document.paths).flatMap(([path, item]) =>
      DOCUMENTED_METHODS.filter((method) => method in item).map((method) => this.#target(path, method, item)),
    )
    this.#templates = Object.keys(document.paths).map((path) => ({
      path,
      pattern: new RegExp(`^${path.replace(/\{\w+\}/g, '([^/]+)')}$`),
      names: this.names(path),
    }))
  }

  #target(path: string, method: string, item: Schema): FuzzedOperation {
    const { operationId, parameters = [], requestBody, responses } = item[method]
    const content: Record<string, Schema> = requestBody?.content ?? {}
    return {
      id: operationId,
      family: /^\/(1|functions)\//.test(path) ? 'class' : 'path',
      method: method.toUpperCase(),
      path,
      parameters: [...(item.parameters ?? []), ...parameters].map((parameter) => this.resolve(parameter)),
      bodies: Object.fromEntries(Object.entries(content).map(([type, { schema }]) => [type, schema])),
      page: '303' in responses || JSON.stringify(responses).includes('"text/html"'),
    }
  }

  resolve(schema: Schema): Schema {
    const { $ref } = schema ?? {}
    if (typeof $ref !== 'string') return schema
    const parts = $ref.split('/').slice(1)
    return this.resolve(parts.reduce((part, name) => part[name], this.#document))
  }

  /** The ids in a path template, under the names in RecordIds. */
  names(path: string): string[] {
    const className = /^\/1\/classes\/(\w+)/.exec(path)?.[1] ?? ''
    return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) =>
      name === 'objectId' ? idNameOfClass(className) : canonicalIdName(name),
    )
  }

  /** The ids in a concrete path; undefined if no template matches. */
  placeOf(path: string): RecordIds | undefined {
    const fits = this.#templates
      .map(({ pattern, names }) => ({ names, match: pattern.exec(path) }))
      .filter(({ match }) => match !== null)
      .sort((a, b) => a.names.length - b.names.length)[0]
    if (!fits) return undefined
    return Object.fromEntries(fits.names.map((name, i) => [name, fits.match?.[i + 1] ?? '']))
  }
}
