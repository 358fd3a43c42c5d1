import type { Actor, FuzzRequest, FuzzResponse } from './fuzz-request.ts'
import { idNameOfClass, type OpenApi, type RecordIds } from './openapi-targets.ts'
import type { Random } from './random.ts'

type Fields = Record<string, unknown>

const MAX_REMEMBERED = 80
const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null
const textFieldsOf = (fields: Fields): RecordIds =>
  Object.fromEntries(
    Object.entries(fields).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )

/** The values that a client has seen: ids of created and listed records, ETags, cursors, idempotency keys. */
export class ClientMemory {
  readonly #places = new Map<Actor, RecordIds[]>()
  readonly #etags = new Map<string, string>()
  readonly #cursors = new Map<string, string>()
  readonly #openApi: OpenApi

  constructor(openApi: OpenApi) {
    this.#openApi = openApi
  }

  /** Whether the actor has seen a record that has all these ids. */
  hasIds = (actor: Actor, names: readonly string[]): boolean =>
    (this.#places.get(actor) ?? []).some((place) => names.every((name) => name in place))

  /** The ids of a record, preferably one with these names; empty if the actor has seen none. */
  place(random: Random, actor: Actor, names: readonly string[]): RecordIds {
    const places = this.#places.get(actor) ?? []
    const fitting = places.filter((place) => names.every((name) => name in place))
    if (fitting.length > 0) return random.pickLate(fitting)
    const last = (name: string) => places.findLast((place) => name in place)?.[name]
    return Object.fromEntries(
      names.flatMap((name) => [[name, last(name)]].filter((entry) => entry[1] !== undefined)),
    ) as RecordIds
  }

  etag = (path: string): string | undefined => this.#etags.get(path.split('?')[0] ?? '')
  cursor = (route: string): string | undefined => this.#cursors.get(route)

  add(actor: Actor, place: RecordIds): void {
    this.#places.set(actor, [...(this.#places.get(actor) ?? []), place].slice(-MAX_REMEMBERED))
  }

  /** Starts a new account for an actor and forgets the former one. */
  begin(actor: Actor, { mvUid, ehrId }: RecordIds): void {
    this.#places.set(actor, [textFieldsOf({ mvUid, ehrId })])
  }

  /** Copies another memory's values of an actor. */
  takeOver(actor: Actor, other: ClientMemory): void {
    this.#places.set(actor, [...(other.#places.get(actor) ?? [])])
  }

  learn(ask: FuzzRequest, { status, headers, json }: FuzzResponse): void {
    if (status >= 400) return
    const path = ask.path.split('?')[0] ?? ''
    if (typeof headers.etag === 'string') setNewest(this.#etags, path, headers.etag)
    const from = this.#openApi.placeOf(path) ?? {}
    for (const place of [...this.#located(headers.location), ...this.#shown(path, json, ask)])
      this.add(ask.actor, { ...from, ...place })
    const next = isFields(json) && isFields(json.page) ? json.page.next : undefined
    if (typeof next === 'string') setNewest(this.#cursors, ask.route, next)
  }

  #located(location: unknown): RecordIds[] {
    if (typeof location !== 'string') return []
    const place = this.#openApi.placeOf(location.replace(/^https?:\/\/[^/]+/, ''))
    return place ? [place] : []
  }

  /** The first few resources and objects in a response. */
  #shown(path: string, json: unknown, ask: FuzzRequest): RecordIds[] {
    if (!isFields(json)) return []
    const className = /^\/1\/classes\/(\w+)/.exec(path)?.[1]
    const list = [json.items, json.results].find(Array.isArray)
    if (className === undefined) return (list ?? []).slice(0, 5).flatMap((item) => this.#listed(path, item))
    const objects: unknown[] = list?.slice(0, 5) ?? [{ ...parseFields(ask.body), ...json }]
    return objects.flatMap((object) => {
      if (!isFields(object) || typeof object.objectId !== 'string') return []
      const { ehrId, carePlanId, goalId, objectId } = object
      return [textFieldsOf({ ehrId, carePlanId, goalId, [idNameOfClass(className)]: objectId })]
    })
  }

  /** An item of a list, if the document has an operation for single items of it. */
  #listed(path: string, item: unknown): RecordIds[] {
    if (!isFields(item)) return []
    const name = Object.keys(this.#openApi.placeOf(`${path}/x`) ?? {}).at(-1)
    const id = name === undefined ? undefined : (item[name] ?? item.id)
    return name === undefined || typeof id !== 'string' ? [] : [{ [name]: id }]
  }
}

/** Keeps the newest values. */
function setNewest(map: Map<string, string>, key: string, value: string): void {
  map.delete(key)
  map.set(key, value)
  if (map.size > 5 * MAX_REMEMBERED) map.delete(map.keys().next().value ?? '')
}

function parseFields(body: Buffer | undefined): Fields {
  try {
    const json: unknown = JSON.parse(String(body))
    return isFields(json) ? json : {}
  } catch {
    return {}
  }
}
