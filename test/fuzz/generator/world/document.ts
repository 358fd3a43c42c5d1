import type { Family } from './ask.ts'

// biome-ignore lint/suspicious/noExplicitAny: a JSON schema, or a part of an OpenAPI document, as it was served
export type Schema = any

/** An operation of the served OpenAPI document. */
export interface Target {
  id: string
  family: Family
  method: string
  /** `/ehr/{ehrId}/careplan`. */
  path: string
  parameters: { name: string; in: string; required: boolean; schema: Schema }[]
  /** The schema of the body, by media type. */
  bodies: Record<string, Schema>
  page: boolean
}

/** Names of one and the same id. */
const aliases: Record<string, string> = { careplanId: 'carePlanId', ownerId: 'carePlanId' }

const placeName = (name: string): string => aliases[name] ?? name

/** What is known of a record: the ids that lead to it, by the names that bodies have for them. */
export type Place = Readonly<Record<string, string>>

/** `carePlanId`, the name of the id of a class's objects. */
export const idOfClass = (className: string): string =>
  `${className.charAt(0).toLowerCase()}${className.slice(1)}Id`

const methods = ['get', 'post', 'put', 'delete']

/** The served document, as requests are made from it. */
export class OpenApi {
  readonly targets: Target[]
  readonly #document: Schema
  readonly #templates: { path: string; pattern: RegExp; names: string[] }[]

  constructor(document: Schema) {
    this.#document = document
    this.targets = Object.entries<Schema>(document.paths).flatMap(([path, item]) =>
      methods.filter((method) => method in item).map((method) => this.#target(path, method, item)),
    )
    this.#templates = Object.keys(document.paths).map((path) => ({
      path,
      pattern: new RegExp(`^${path.replace(/\{\w+\}/g, '([^/]+)')}$`),
      names: this.names(path),
    }))
  }

  #target(path: string, method: string, item: Schema): Target {
    const { operationId, parameters = [], requestBody, responses } = item[method]
    const content: Record<string, Schema> = requestBody?.content ?? {}
    return {
      id: operationId,
      family: /^\/(1|functions)\//.test(path) ? 'class' : 'path',
      method: method.toUpperCase(),
      path,
      parameters: [...(item.parameters ?? []), ...parameters].map((parameter) => this.resolve(parameter)),
      bodies: Object.fromEntries(Object.entries(content).map(([type, { schema }]) => [type, schema])),
      page: JSON.stringify(responses).includes('"text/html"'),
    }
  }

  resolve(schema: Schema): Schema {
    const { $ref } = schema ?? {}
    if (typeof $ref !== 'string') return schema
    const parts = $ref.split('/').slice(1)
    return this.resolve(parts.reduce((part, name) => part[name], this.#document))
  }

  /** The ids in a path template, by the names that a place has for them. */
  names(path: string): string[] {
    const className = /^\/1\/classes\/(\w+)/.exec(path)?.[1] ?? ''
    return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) =>
      name === 'objectId' ? idOfClass(className) : placeName(name),
    )
  }

  /** The ids in a path that the service gave or took; undefined when no template fits. */
  placeOf(path: string): Place | undefined {
    const fits = this.#templates
      .map(({ pattern, names }) => ({ names, match: pattern.exec(path) }))
      .filter(({ match }) => match !== null)
      .sort((a, b) => a.names.length - b.names.length)[0]
    if (!fits) return undefined
    return Object.fromEntries(fits.names.map((name, i) => [name, fits.match?.[i + 1] ?? '']))
  }
}
