import { Composition } from '../../records/compositions/composition-record.ts'
import { createFieldDerivation } from '../../records/store/backfill/derivation.ts'
import type { RmObject } from '../rm/canonical-json.ts'
import {
  type Fact,
  factPlace,
  hasFacts,
  instantMsIn,
  occurrenceCountPlace,
  shortKey,
  structurePlace,
} from './facts.ts'
import { findLinks, targetIds } from './links.ts'
import { isFactRoot, structureKey } from './structure.ts'

/** The fields by which queries find a composition. */
interface SearchFields {
  /** The archetypes that occur in it. */
  archetypes: string[]
  /** The ids in its links. */
  links: string[]
  facts: Fact[]
  /** The earliest and the latest event of each archetype, if they differ; otherwise one of them. */
  times: Fact[]
  /** Start of its context, in milliseconds. */
  start?: number
}

/** The search fields of a version that marks the composition as deleted. */
export const NO_SEARCH_FIELDS: SearchFields = { archetypes: [], links: [], facts: [], times: [] }

/** The search fields that a version always has. */
export const SEARCH_FIELD_NAMES: readonly string[] = Object.keys(NO_SEARCH_FIELDS)

export const compositionDerivation = createFieldDerivation({
  collection: Composition.collection,
  version: 2,
  fields: ['archetypes', 'links', 'facts', 'times', 'start'],
  // Each composition may have 4 MB.
  batchSize: 20,
  areShown: false,
  derive: async (_, { json }) => ({
    ...(typeof json === 'string' ? searchFieldsOf(JSON.parse(json) as RmObject) : NO_SEARCH_FIELDS),
  }),
})

/** The archetype at whose places facts are, and the attributes that lead from its root to an object. */
interface FactContext {
  archetypeId: string
  path: string
}

export function searchFieldsOf(composition: RmObject): SearchFields {
  const { start_time } = (composition.context ?? {}) as { start_time?: RmObject }
  const start = instantMsIn(start_time?.value)
  const collector = new SearchFieldCollector()
  collector.visit(composition, undefined)
  return { ...collector.fields(), ...(start !== undefined && { start }) }
}

/** Collects the search fields of a composition in one pass. */
class SearchFieldCollector {
  /** The number of occurrences of each archetype as a node of its class. */
  readonly #archetypes = new Map<string, number>()
  readonly #links = new Set<string>()
  readonly #facts: Fact[] = []
  /** The number of occurrences of each value at each place. */
  readonly #times = new Map<string, number>()
  readonly #events = new Map<string, { least: number; most: number }>()

  visit(value: unknown, within: FactContext | undefined): void {
    if (Array.isArray(value)) for (const one of value) this.#visitMember(one, within)
    else this.#visitMember(value, within)
  }

  #visitMember(value: unknown, within: FactContext | undefined): void {
    if (typeof value !== 'object' || value === null) return
    const object = value as RmObject
    const id = object.archetype_node_id
    const context = typeof id === 'string' ? this.#visitNode(object, id, within) : within
    for (const name in object) {
      const member = object[name]
      if (typeof member !== 'object') continue
      if (name === 'links') for (const link of findLinks({ links: member })) this.#addLink(link.target)
      this.visit(
        member,
        context && { ...context, path: context.path === '' ? name : `${context.path}/${name}` },
      )
    }
  }

  #visitNode(object: RmObject, id: string, within: FactContext | undefined): FactContext | undefined {
    if (id.startsWith('openEHR-'))
      this.#archetypes.set(
        id,
        (this.#archetypes.get(id) ?? 0) + (id.split(/[-.]/)[2] === object._type ? 1 : 0),
      )
    if (isFactRoot(object)) this.#add(structurePlace(id), structureKey(object))
    const context = hasFacts(id) ? { archetypeId: id, path: '' } : within
    if (context) this.#addFacts(object, id, context)
    return context
  }

  #addFacts({ value, time }: RmObject, nodeId: string, { archetypeId, path }: FactContext): void {
    if (path.endsWith('items')) {
      const magnitude = (value as RmObject | undefined)?.magnitude
      if (typeof magnitude === 'number') this.#add(factPlace(archetypeId, path, nodeId), magnitude)
    } else if (path.endsWith('events')) {
      const timeMs = instantMsIn((time as RmObject | undefined)?.value)
      if (timeMs !== undefined) this.#addEvent(factPlace(archetypeId, `${path}/time`), timeMs)
    }
  }

  #addEvent(place: string, timeMs: number): void {
    this.#add(place, timeMs)
    const { least, most } = this.#events.get(place) ?? { least: timeMs, most: timeMs }
    this.#events.set(place, { least: Math.min(least, timeMs), most: Math.max(most, timeMs) })
  }

  #add(place: string, v: number | string): void {
    const k = shortKey(place)
    const i = this.#times.get(`${k}${v}`) ?? 0
    this.#times.set(`${k}${v}`, i + 1)
    this.#facts.push({ k, v, ...(i > 0 && { i }) })
  }

  #addLink(target: string): void {
    for (const id of targetIds(target)) this.#links.add(id)
  }

  fields(): SearchFields {
    for (const [id, count] of this.#archetypes) if (count !== 1) this.#add(occurrenceCountPlace(id), count)
    const times = [...this.#events].flatMap(([place, { least, most }]) =>
      [...new Set([least, most])].map((v) => ({ k: shortKey(place), v })),
    )
    return { archetypes: [...this.#archetypes.keys()], links: [...this.#links], facts: this.#facts, times }
  }
}
