import { LRUCache } from 'lru-cache'
import type { Db } from 'mongodb'
import { Composition } from '../../../records/compositions/composition-record.ts'
import { createSharedRead } from '../../../records/store/batching/batched-lookup.ts'
import { documentCollection } from '../../../records/store/documents/database.ts'
import { shortKey, structurePlace } from '../../compositions/facts.ts'
import { isFactRoot, structureKey } from '../../compositions/structure.ts'
import type { RmObject } from '../../rm/canonical-json.ts'
import { AQL_TIMEOUT_MS } from '../timeout.ts'

/** The structures of an archetype, each with an occurrence that has it. */
export type Structures = ReadonlyMap<string, RmObject>

/** With more structures than this, looking at each of them costs more than it saves. */
const MAX_STRUCTURES = 64
const MAX_ARCHETYPES = 200
/** Only the nodes of an example matter, so long ones are rare. */
const MAX_EXAMPLE_LENGTH = 64 * 1024

/**
 * The structures in which archetypes occur in the stored compositions. A structure never changes, so its
 * example is kept; new structures are looked for each time.
 */
export class KnownStructures {
  readonly #db: Db
  readonly #readers = new LRUCache<string, () => Promise<Structures | undefined>>({ max: MAX_ARCHETYPES })

  constructor(db: Db) {
    this.#db = db
  }

  /** @returns undefined if they are too many or too large */
  findStructures(archetypeId: string): Promise<Structures | undefined> {
    const reader = this.#readers.get(archetypeId) ?? this.#readerOf(archetypeId)
    this.#readers.set(archetypeId, reader)
    return reader()
  }

  #readerOf(archetypeId: string): () => Promise<Structures | undefined> {
    const structures = new Map<string, RmObject>()
    return createSharedRead(() => this.#read(archetypeId, structures))
  }

  async #read(archetypeId: string, structures: Map<string, RmObject>): Promise<Structures | undefined> {
    for (;;) {
      const json = await this.#findUnknown(archetypeId, [...structures.keys()].sort())
      if (json === undefined) return structures
      const examples = findExamples(JSON.parse(json), archetypeId)
      const fresh = [...examples].filter(([key]) => !structures.has(key))
      const isLarge = fresh.some(([, example]) => JSON.stringify(example).length > MAX_EXAMPLE_LENGTH)
      if (fresh.length === 0 || isLarge || structures.size + fresh.length > MAX_STRUCTURES) return undefined
      for (const [key, example] of fresh) structures.set(key, example)
    }
  }

  /** Finds a composition whose structure is not among these: an index range for each gap between the sorted keys. */
  async #findUnknown(archetypeId: string, keys: readonly string[]): Promise<string | undefined> {
    const k = shortKey(structurePlace(archetypeId))
    const gaps = [...keys, undefined].map((next, i) => ({
      ...(i > 0 && { $gt: keys[i - 1] }),
      ...(next !== undefined && { $lt: next }),
    }))
    const filters = gaps.map((v) => ({
      facts: { $elemMatch: { k, ...(keys.length > 0 && { v }) } },
    }))
    const [only, ...others] = filters
    const filter = others.length > 0 ? { $or: filters } : (only ?? {})
    const options = { projection: { json: 1 }, maxTimeMS: AQL_TIMEOUT_MS }
    const composition = await documentCollection({ db: this.#db }, Composition.collection).findOne(
      filter,
      options,
    )
    return typeof composition?.json === 'string' ? composition.json : undefined
  }
}

/** The occurrences of an archetype in a composition, one for each structure. */
function findExamples(value: unknown, archetypeId: string): Map<string, RmObject> {
  const examples = new Map<string, RmObject>()
  const visit = (one: unknown): void => {
    if (typeof one !== 'object' || one === null) return
    const object = one as RmObject
    if (object.archetype_node_id === archetypeId && isFactRoot(object))
      examples.set(structureKey(object), object)
    for (const member of Object.values(one)) visit(member)
  }
  visit(value)
  return examples
}
