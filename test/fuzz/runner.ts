import { setTimeout as sleep } from 'node:timers/promises'
import { nextAsk } from './generator/next.ts'
import type { Actor, Answer, Ask, Family } from './generator/world/ask.ts'
import { OpenApi } from './generator/world/document.ts'
import { Memory } from './generator/world/memory.ts'
import { Random } from './generator/world/random.ts'
import type { World } from './generator/world/world.ts'
import { type Finding, findingInLine, findingsIn } from './oracle/finding.ts'
import type { Findings } from './oracle/findings.ts'
import { Tally } from './tally.ts'
import { send } from './target/client.ts'
import type { FuzzedService } from './target/fuzzed-service.ts'
import { People } from './target/people.ts'
import { belongings, plant, showsPlanted } from './target/victim.ts'

export interface Plan {
  seed: number
  seconds: number
  /** At most, of all families. */
  requests: number
  families: readonly Family[]
  lanes: number
}

/** After so many requests somebody begins anew, or their data would grow without end. */
const lifetime = 4_000
/** How many requests are remembered for the log's lines, which come later. */
const remembered = 200

/** Tries a service with requests of all kinds; each lane asks one after the other what the seed tells it to. */
export class Run {
  readonly tally = new Tally()
  readonly #service: FuzzedService
  readonly #findings: Findings
  readonly #plan: Plan
  readonly #asked = new Map<string, Ask>()
  #people!: People
  #asks = 0
  #over = false

  constructor(service: FuzzedService, findings: Findings, plan: Plan) {
    this.#service = service
    this.#findings = findings
    this.#plan = plan
  }

  /** @param admin the address of an administrator who was invited */
  async perform(admin: string): Promise<void> {
    this.#listen()
    try {
      const worlds = await this.#open(admin)
      const first = worlds[0] as World
      const before = await belongings(first, this.#service.url)
      const end = performance.now() + this.#plan.seconds * 1000
      await Promise.all(worlds.map((world) => this.#lane(world, end)))
      await sleep(500)
      await this.#compare(before, first)
    } finally {
      this.#over = true
    }
  }

  /** Asks nothing more: what has been found is summed up. */
  end(): void {
    this.#over = true
  }

  #listen(): void {
    this.#service.onOutput((line) => {
      const finding = findingInLine(line, this.#asked)
      if (finding) this.#findings.add(finding)
    })
    this.#service.ended.then((code) => {
      if (this.#over) return
      this.#over = true
      this.#findings.add({
        kind: `the service ended with ${code}`,
        told: '',
        asks: [...this.#asked.values()],
      })
    })
  }

  /** Lets the people in, and plants the victim's data. @returns a world for each lane */
  async #open(admin: string): Promise<World[]> {
    const { url, keys } = this.#service
    const { seed, lanes, families } = this.#plan
    const openApi = new OpenApi(await (await fetch(`${url}/openapi.json`)).json())
    const targets = families.map((family) => openApi.targets.filter((target) => target.family === family))
    const memories = Array.from({ length: lanes }, () => new Memory(openApi))
    this.#people = new People(this.#service, (actor, { facts }) => {
      for (const memory of memories) memory.begin(actor, facts)
    })
    for (const actor of ['ann', 'ben', 'victim'] as const) await this.#people.add(actor)
    await this.#people.addInvited('admin', admin)
    const { identityOf } = this.#people
    const worlds = memories.map((memory, lane) => ({
      ...{ openApi, targets, memory, keys, identityOf },
      random: new Random(seed, lane),
    }))
    const first = worlds[0] as World
    this.tally.planted = await plant(first, url)
    for (const memory of memories.slice(1)) memory.take('victim', first.memory)
    return worlds
  }

  async #lane(world: World, end: number): Promise<void> {
    while (!this.#over && performance.now() < end && this.#asks < this.#plan.requests) {
      const at = ++this.#asks
      await this.#ask(world, nextAsk(world), `fuzz-${this.#plan.seed}-${at}`)
      if (at % lifetime === 0) await this.#renew(world.random.pick(['ann', 'ben']), true)
    }
  }

  async #ask(world: World, plain: Ask, id: string): Promise<void> {
    const ask = { ...plain, headers: { 'x-request-id': id, ...plain.headers } }
    this.#asked.set(id, ask)
    if (this.#asked.size > remembered) this.#asked.delete(this.#asked.keys().next().value ?? '')
    try {
      const answer = await send(this.#service.url, ask)
      this.tally.count(ask, answer)
      for (const finding of findingsIn(ask, answer, showsPlanted(ask, answer))) this.#findings.add(finding)
      world.memory.learn(ask, answer)
      if (isOut(ask, answer)) await this.#renew(ask.actor)
    } catch (error) {
      if (this.#over) return
      this.#findings.add({ kind: 'no answer', told: String(error), asks: [ask] })
    }
  }

  async #renew(actor: Actor, anew = false): Promise<void> {
    await this.#people.renew(actor, anew).catch((error) => {
      if (!this.#over) this.#findings.add({ kind: `${actor} gets in no more`, told: String(error), asks: [] })
    })
  }

  /** What the victim has must be as it was. */
  async #compare(before: Map<string, string>, world: World): Promise<void> {
    if (this.#over) return
    await this.#renew('victim')
    const after = await belongings(world, this.#service.url)
    const changed: Finding[] = [...before]
      .filter(([path, object]) => after.get(path) !== object)
      .map(([path]) => ({ kind: `somebody changed ${path.split('/')[3]} of another`, told: path, asks: [] }))
    for (const finding of changed) this.#findings.add(finding)
  }
}

/** Whether a session is over that nothing was done to. */
const isOut = ({ loggedIn, route }: Ask, { status }: Answer): boolean =>
  loggedIn && status === 401 && !/login/i.test(route)
