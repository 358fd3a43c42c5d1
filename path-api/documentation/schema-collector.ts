import { isDeepStrictEqual } from 'node:util'
import type { TSchema } from '@sinclair/typebox'

export type Json = Record<string, unknown>

/** Turns schemas into what an OpenAPI document holds: each named one stands once and is referred to. */
export class SchemaCollector {
  /** Schemas by name, for `components.schemas`. */
  readonly named: Record<string, unknown> = {}

  /** @throws when two different schemas bear one name */
  collect(schema: TSchema): unknown {
    return this.#walk(schema)
  }

  #walk(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((member) => this.#walk(member))
    if (typeof value !== 'object' || value === null) return value
    const { $id, sentence: _ours, ...members } = value as Json
    const plain = Object.fromEntries(
      Object.entries(members).map(([key, member]) => [key, this.#walk(member)]),
    )
    if (typeof $id !== 'string') return plain
    if ($id in this.named && !isDeepStrictEqual(this.named[$id], plain)) {
      throw new Error(`two different schemas are called ${$id}`)
    }
    this.named[$id] = plain
    return { $ref: `#/components/schemas/${$id}` }
  }
}
