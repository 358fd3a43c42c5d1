import { setTimeout as sleep } from 'node:timers/promises'
import { connecting, nextFrame } from './generator/frames.ts'
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
import { FuzzedSocket, type Heard } from './target/socket.ts'
import { belongings, plant, showsPlanted, tellsPlanted } from './target/victim.ts'

export interface Plan {
  seed: number
  seconds: number
  /** At most, of all families. */
  requests: number
  families: readonly Family[]
  /** Whether sockets of live queries are tried, too. */
  live: boolean
  lanes: number
}

/** After so many requests somebody begins anew, or their data would grow without end. */
const lifetime = 4_000
/** How many requests are remembered for the log's lines, which come later. */
const remembered = 200
/** Frames that are sent on one socket. */
const framesOfOne = 500
/** How many are sent before the first is answered. */
const bursts = [
  [8, 1],
  [3, 10],
  [1, 60],
] as const
/** Sockets that say nothing, and for how long a service may let them. */
const silent = { sockets: 1_000, ms: 8_000 }

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
      const { families, live } = this.#plan
      await Promise.all([
        ...worlds.flatMap((world) => (families.length > 0 ? [this.#lane(world, end)] : [])),
        ...(live ? [this.#sockets(worlds, end)] : []),
      ])
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

  /** One socket after the other, on which somebody sends frames until it is closed. */
  async #frames(world: World, end: number): Promise<void> {
    const { random } = world
    const isOver = () => this.#over || performance.now() >= end || this.#asks >= this.#plan.requests
    while (!isOver()) {
      const actor = random.pick<Actor>(['ann', 'ann', 'ben', 'admin', 'nobody'])
      const socket = await FuzzedSocket.open(this.#service.url)
      let frames: (string | Buffer)[] = [connecting(world, actor)]
      for (let sent = 0; socket?.isOpen && sent < framesOfOne && !isOver(); sent += frames.length) {
        this.#asks += frames.length
        const { heard, inTime } = await socket.exchange(frames)
        this.tally.countFrames(frames.length, heard)
        this.#judge(actor, frames, heard, inTime)
        frames = Array.from({ length: random.weighted(bursts) }, () => nextFrame(world, actor))
      }
      socket?.end()
    }
  }

  #judge(actor: Actor, frames: readonly (string | Buffer)[], heard: readonly Heard[], inTime: boolean): void {
    const sent = frames.map((frame) => String(frame.slice(0, 500))).join('\n  ')
    const add = (kind: string, told = '') =>
      this.#findings.add({ kind, told: `${told}\n  ${sent}`, asks: [] })
    if (!inTime && !this.#over) add('frames without an answer')
    for (const { text, message } of heard) {
      if (message?.op === undefined) add('an answer to a frame that is none', text)
      if (message?.op === 'error' && message.code === 1)
        add('an internal error in an answer to a frame', text)
      if (tellsPlanted(actor, text)) add('what somebody else has written, by a socket', text)
    }
  }

  /** First those that never say whose they are: they must be closed, or nobody else could come. */
  async #sockets(worlds: readonly World[], end: number): Promise<void> {
    const { url } = this.#service
    const opened = Array.from({ length: silent.sockets }, () => FuzzedSocket.open(url))
    const closed = (await Promise.all(opened)).map((socket) => socket?.closesIn(silent.ms) ?? true)
    if (!(await Promise.all(closed)).every(Boolean))
      this.#findings.add({ kind: 'a silent socket stays open', told: '', asks: [] })
    const { seed, families } = this.#plan
    // Requests are the same by the same seed, whatever goes over sockets meanwhile.
    const own = worlds.map((world, i) => ({ ...world, random: new Random(seed, worlds.length + i) }))
    const trying = families.length > 0 ? own.slice(0, 1) : own
    await Promise.all(trying.map((world) => this.#frames(world, end)))
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
