import { isDeepStrictEqual } from 'node:util'
import type { TSchema } from '@sinclair/typebox'

export type Json = Record<string, unknown>

/** Collects schemas for an OpenAPI document. Each named schema appears once and is referenced elsewhere. */
export class SchemaCollector {
  /** Schemas by name, for `components.schemas`. */
  readonly schemasByName: Record<string, unknown> = {}

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
    if ($id in this.schemasByName && !isDeepStrictEqual(this.schemasByName[$id], plain)) {
      throw new Error(`Two different schemas have the $id ${$id}: rename one`)
    }
    this.schemasByName[$id] = plain
    return { $ref: `#/components/schemas/${$id}` }
  }
}

/**
 * Adapts a schema to the document and to client generators: adds documented rules, replaces patterns that some
 * languages lack by words, drops defaults of properties, and gives each enumeration a single type.
 */
function toPortableSchema(schema: Json): Json {
  const { documented, ...checkedSchema } = schema
  const { pattern, inWords, description, properties, required, ...rest } = splitEnumByType(
    addDocumentedRules(checkedSchema, documented as Json | undefined),
  )
  const isPortable = typeof pattern !== 'string' || !pattern.includes('\\p{')
  const fullDescription = isPortable ? description : `${description}; ${inWords}`
  return {
    ...rest,
    ...(fullDescription === undefined ? {} : { description: fullDescription }),
    ...(isPortable && pattern !== undefined ? { pattern } : {}),
    ...(required === undefined ? {} : { required }),
    ...(properties === undefined ? {} : { properties: withoutDefaults(properties as Json, required) }),
  }
}

/** Adds the rules that code checks in place of the schema. */
function addDocumentedRules(schema: Json, documentedRules: Json = {}): Json {
  const values = documentedRules.enum as unknown[] | undefined
  const isNullable = Array.isArray(schema.type) && schema.type.includes('null')
  return {
    ...schema,
    ...documentedRules,
    ...(schema.description !== undefined && { description: schema.description }),
    ...(values && isNullable && { enum: [...values, null] }),
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

/**
 * Some generators treat a property with a default as required, and write defaults of enumerations that do not
 * compile. A required property has no use for one.
 */
function withoutDefaults(properties: Json, required: unknown): Json {
  const isRequired = (name: string) => Array.isArray(required) && required.includes(name)
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => {
      const { default: defaultValue, ...rest } = (property ?? {}) as Json
      if (defaultValue === undefined || typeof property !== 'object') return [name, property]
      if (isRequired(name)) return [name, rest]
      return [
        name,
        { ...rest, description: `${rest.description ?? name}. Default: ${JSON.stringify(defaultValue)}` },
      ]
    }),
  )
}
