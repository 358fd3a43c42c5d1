import type { Actor, Answer, Ask } from './ask.ts'
import { idOfClass, type OpenApi, type Place } from './document.ts'
import type { Random } from './random.ts'

type Fields = Record<string, unknown>

const most = 80
const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null
const texts = (fields: Fields): Place =>
  Object.fromEntries(
    Object.entries(fields).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )

/** What a client has seen: ids of what was created or listed, ETags, cursors, keys of requests. */
export class Memory {
  readonly #places = new Map<Actor, Place[]>()
  readonly #etags = new Map<string, string>()
  readonly #cursors = new Map<string, string>()
  readonly #openApi: OpenApi

  constructor(openApi: OpenApi) {
    this.#openApi = openApi
  }

  /** Whether somebody has seen something that has all these ids. */
  knows = (actor: Actor, names: readonly string[]): boolean =>
    (this.#places.get(actor) ?? []).some((place) => names.every((name) => name in place))

  /** Where something is, of the names at best; the places of those who never saw any are empty. */
  place(random: Random, actor: Actor, names: readonly string[]): Place {
    const places = this.#places.get(actor) ?? []
    const fitting = places.filter((place) => names.every((name) => name in place))
    if (fitting.length > 0) return random.pickLate(fitting)
    const last = (name: string) => places.findLast((place) => name in place)?.[name]
    return Object.fromEntries(
      names.flatMap((name) => [[name, last(name)]].filter((entry) => entry[1] !== undefined)),
    ) as Place
  }

  etag = (path: string): string | undefined => this.#etags.get(path.split('?')[0] ?? '')
  cursor = (route: string): string | undefined => this.#cursors.get(route)

  add(actor: Actor, place: Place): void {
    this.#places.set(actor, [...(this.#places.get(actor) ?? []), place].slice(-most))
  }

  /** Somebody begins with a new account; what the former had is forgotten. */
  begin(actor: Actor, { mvUid, ehrId }: Place): void {
    this.#places.set(actor, [texts({ mvUid, ehrId })])
  }

  /** Knows of somebody what another memory knows. */
  take(actor: Actor, other: Memory): void {
    this.#places.set(actor, [...(other.#places.get(actor) ?? [])])
  }

  learn(ask: Ask, { status, headers, json }: Answer): void {
    if (status >= 400) return
    const path = ask.path.split('?')[0] ?? ''
    if (typeof headers.etag === 'string') set(this.#etags, path, headers.etag)
    const from = this.#openApi.placeOf(path) ?? {}
    for (const place of [...this.#located(headers.location), ...this.#shown(path, json, ask)])
      this.add(ask.actor, { ...from, ...place })
    const next = isFields(json) && isFields(json.page) ? json.page.next : undefined
    if (typeof next === 'string') set(this.#cursors, ask.route, next)
  }

  #located(location: unknown): Place[] {
    if (typeof location !== 'string') return []
    const place = this.#openApi.placeOf(location.replace(/^https?:\/\/[^/]+/, ''))
    return place ? [place] : []
  }

  /** Of the resources and objects in an answer, the first few. */
  #shown(path: string, json: unknown, ask: Ask): Place[] {
    if (!isFields(json)) return []
    const className = /^\/1\/classes\/(\w+)/.exec(path)?.[1]
    const list = [json.items, json.results].find(Array.isArray)
    if (className === undefined) return (list ?? []).slice(0, 5).flatMap((item) => this.#listed(path, item))
    const objects: unknown[] = list?.slice(0, 5) ?? [{ ...parsed(ask.body), ...json }]
    return objects.flatMap((object) => {
      if (!isFields(object) || typeof object.objectId !== 'string') return []
      const { ehrId, carePlanId, goalId, objectId } = object
      return [texts({ ehrId, carePlanId, goalId, [idOfClass(className)]: objectId })]
    })
  }

  /** An item of a list below which, by the document, single resources are. */
  #listed(path: string, item: unknown): Place[] {
    if (!isFields(item)) return []
    const name = Object.keys(this.#openApi.placeOf(`${path}/x`) ?? {}).at(-1)
    const id = name === undefined ? undefined : (item[name] ?? item.id)
    return name === undefined || typeof id !== 'string' ? [] : [{ [name]: id }]
  }
}

/** Keeps the newest. */
function set(map: Map<string, string>, key: string, value: string): void {
  map.delete(key)
  map.set(key, value)
  if (map.size > 5 * most) map.delete(map.keys().next().value ?? '')
}

function parsed(body: Buffer | undefined): Fields {
  try {
    const json: unknown = JSON.parse(String(body))
    return isFields(json) ? json : {}
  } catch {
    return {}
  }
}
