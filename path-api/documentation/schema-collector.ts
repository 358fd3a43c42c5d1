import { isDeepStrictEqual } from 'node:util'
import type { TSchema } from '@sinclair/typebox'

export type Json = Record<string, unknown>

/** Collects schemas for an OpenAPI document. Each named schema appears once and is referenced elsewhere. */
export class SchemaCollector {
  /** Schemas by name, for `components.schemas`. */
  readonly named: Record<string, unknown> = {}

  /** @throws Error when two different schemas have the same name */
  collect(schema: TSchema): unknown {
    return this.#walk(schema)
  }

  #walk(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((member) => this.#walk(member))
    if (typeof value !== 'object' || value === null) return value
    const { $id, sentence: _sentence, inWords: _words, ...members } = toPortableSchema(value as Json)
    const plain = Object.fromEntries(
      Object.entries(members).map(([key, member]) => [key, this.#walk(member)]),
    )
    if (typeof $id !== 'string') return plain
    if ($id in this.named && !isDeepStrictEqual(this.named[$id], plain)) {
      throw new Error(`Two different schemas have the $id ${$id}: rename one`)
    }
    this.named[$id] = plain
    return { $ref: `#/components/schemas/${$id}` }
  }
}

/**
 * Adapts a schema to client generators: replaces patterns that some languages lack by words, drops defaults
 * of optional properties, and gives each enumeration a single type.
 */
function toPortableSchema(schema: Json): Json {
  const { pattern, inWords, description, properties, required, ...rest } = splitEnumByType(schema)
  const known = typeof pattern !== 'string' || !pattern.includes('\\p{')
  const fullDescription = known ? description : `${description}; ${inWords}`
  return {
    ...rest,
    ...(fullDescription === undefined ? {} : { description: fullDescription }),
    ...(known && pattern !== undefined ? { pattern } : {}),
    ...(required === undefined ? {} : { required }),
    ...(properties === undefined ? {} : { properties: withoutDefaults(properties as Json, required) }),
  }
}

function splitEnumByType({ enum: values, ...schema }: Json): Json {
  if (!Array.isArray(values)) return schema
  const numbers = values.filter((value) => typeof value === 'number')
  const texts = values.filter((value) => typeof value === 'string')
  if (numbers.length === 0 || texts.length === 0) return { ...schema, enum: values }
  const anyOf = [
    { type: 'integer', enum: numbers },
    { type: 'string', enum: texts },
    ...(values.includes(null) ? [{ type: 'null' }] : []),
  ]
  return { ...schema, anyOf }
}

/** Some generators treat a property with a default as required. */
function withoutDefaults(properties: Json, required: unknown): Json {
  const isRequired = (name: string) => Array.isArray(required) && required.includes(name)
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => {
      const { default: defaultValue, ...rest } = (property ?? {}) as Json
      if (defaultValue === undefined || isRequired(name) || typeof property !== 'object')
        return [name, property]
      return [
        name,
        { ...rest, description: `${rest.description ?? name}. Default: ${JSON.stringify(defaultValue)}` },
      ]
    }),
  )
}
