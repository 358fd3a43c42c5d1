import { setTimeout as sleep } from 'node:timers/promises'
import { FuzzTally } from './fuzz-tally.ts'
import { ClientMemory } from './generator/context/client-memory.ts'
import type { FuzzContext } from './generator/context/fuzz-context.ts'
import type { Actor, Family, FuzzRequest, FuzzResponse } from './generator/context/fuzz-request.ts'
import { OpenApi } from './generator/context/openapi-targets.ts'
import { Random } from './generator/context/random.ts'
import { createConnectFrame, generateFrame } from './generator/frames.ts'
import { generateRequest } from './generator/generate-request.ts'
import { type Finding, findLineFinding, findResponseFindings } from './oracle/finding.ts'
import type { Findings } from './oracle/findings-log.ts'
import { FuzzAccounts } from './target/fuzz-accounts.ts'
import { sendFuzzRequest } from './target/fuzz-client.ts'
import type { FuzzedService } from './target/fuzzed-service.ts'
import { FuzzedSocket, type ReceivedMessage } from './target/fuzzed-socket.ts'
import { isPlantedDataShown, isPlantedTextIn, plantVictimData, readVictimData } from './target/victim-data.ts'

export interface FuzzPlan {
  seed: number
  seconds: number
  /** The maximum, over all families. */
  requests: number
  families: readonly Family[]
  /** Whether to fuzz sockets of live queries, too. */
  live: boolean
  clients: number
}

/** The requests after which an account is replaced, since its data would grow without end. */
const REQUESTS_PER_ACCOUNT = 4_000
/** The number of requests kept for log lines, which arrive later. */
const MAX_REMEMBERED_REQUESTS = 200
/** The number of frames on one socket. */
const FRAMES_PER_SOCKET = 500
/** The number of frames sent before the first answer. */
const BURSTS = [
  [8, 1],
  [3, 10],
  [1, 60],
] as const
/** The number of silent sockets, and the time within which the service must close them. */
const SILENT_SOCKETS = { sockets: 1_000, ms: 8_000 }

/**
 * Fuzzes a service with all kinds of requests. Each client sends one request after the other, chosen by the
 * seed.
 */
export class FuzzRun {
  readonly tally = new FuzzTally()
  readonly #service: FuzzedService
  readonly #findings: Findings
  readonly #plan: FuzzPlan
  readonly #asked = new Map<string, FuzzRequest>()
  #people!: FuzzAccounts
  #asks = 0
  #isOver = false

  constructor(service: FuzzedService, findings: Findings, plan: FuzzPlan) {
    this.#service = service
    this.#findings = findings
    this.#plan = plan
  }

  /** @param admin the address of an invited administrator */
  async perform(admin: string): Promise<void> {
    this.#listen()
    try {
      const worlds = await this.#open(admin)
      const firstWorld = worlds[0] as FuzzContext
      const before = await readVictimData(firstWorld, this.#service.url)
      const end = performance.now() + this.#plan.seconds * 1000
      const { families, live } = this.#plan
      await Promise.all([
        ...worlds.flatMap((world) => (families.length > 0 ? [this.#runWorker(world, end)] : [])),
        ...(live ? [this.#holdSilentSockets(worlds, end)] : []),
      ])
      await sleep(500)
      await this.#compare(before, firstWorld)
    } finally {
      this.#isOver = true
    }
  }

  /** Stops sending and sums up the findings. */
  end(): void {
    this.#isOver = true
  }

  #listen(): void {
    this.#service.onOutput((line) => {
      const finding = findLineFinding(line, this.#asked)
      if (finding) this.#findings.add(finding)
    })
    this.#service.ended.then((code) => {
      if (this.#isOver) return
      this.#isOver = true
      this.#findings.add({
        kind: `the service ended with ${code}`,
        detail: '',
        asks: [...this.#asked.values()],
      })
    })
  }

  /** Logs the actors in and plants the victim's data. @returns a context for each client */
  async #open(admin: string): Promise<FuzzContext[]> {
    const { url, keys } = this.#service
    const { seed, clients, families } = this.#plan
    const openApi = new OpenApi(await (await fetch(`${url}/openapi.json`)).json())
    const targets = families.map((family) => openApi.targets.filter((target) => target.family === family))
    const memories = Array.from({ length: clients }, () => new ClientMemory(openApi))
    this.#people = new FuzzAccounts(this.#service, (actor, { facts }) => {
      for (const memory of memories) memory.begin(actor, facts)
    })
    for (const actor of ['ann', 'ben', 'victim'] as const) await this.#people.add(actor)
    await this.#people.addInvited('admin', admin)
    const { identityOf } = this.#people
    const worlds = memories.map((memory, stream) => ({
      openApi,
      targets,
      memory,
      keys,
      identityOf,
      random: new Random(seed, stream),
    }))
    const firstWorld = worlds[0] as FuzzContext
    this.tally.planted = await plantVictimData(firstWorld, url)
    for (const memory of memories.slice(1)) memory.takeOver('victim', firstWorld.memory)
    return worlds
  }

  async #runWorker(world: FuzzContext, end: number): Promise<void> {
    while (!this.#isOver && performance.now() < end && this.#asks < this.#plan.requests) {
      const askNumber = ++this.#asks
      await this.#sendRequest(world, generateRequest(world), `fuzz-${this.#plan.seed}-${askNumber}`)
      if (askNumber % REQUESTS_PER_ACCOUNT === 0) await this.#renew(world.random.pick(['ann', 'ben']), true)
    }
  }

  async #sendRequest(world: FuzzContext, plain: FuzzRequest, id: string): Promise<void> {
    const ask = { ...plain, headers: { 'x-request-id': id, ...plain.headers } }
    this.#asked.set(id, ask)
    if (this.#asked.size > MAX_REMEMBERED_REQUESTS) this.#asked.delete(this.#asked.keys().next().value ?? '')
    try {
      const answer = await sendFuzzRequest(this.#service.url, ask)
      this.tally.count(ask, answer)
      for (const finding of findResponseFindings(ask, answer, isPlantedDataShown(ask, answer)))
        this.#findings.add(finding)
      world.memory.learn(ask, answer)
      if (isLoggedOut(ask, answer)) await this.#renew(ask.actor)
    } catch (error) {
      if (this.#isOver) return
      this.#findings.add({ kind: 'no answer', detail: String(error), asks: [ask] })
    }
  }

  /** Sends frames on one socket after the other, each until it is closed. */
  async #sendFrames(world: FuzzContext, end: number): Promise<void> {
    const { random } = world
    const isOver = () => this.#isOver || performance.now() >= end || this.#asks >= this.#plan.requests
    while (!isOver()) {
      const actor = random.pick<Actor>(['ann', 'ann', 'ben', 'admin', 'nobody'])
      const socket = await FuzzedSocket.open(this.#service.url)
      let frames: (string | Buffer)[] = [createConnectFrame(world, actor)]
      for (
        let frameCount = 0;
        socket?.isOpen && frameCount < FRAMES_PER_SOCKET && !isOver();
        frameCount += frames.length
      ) {
        this.#asks += frames.length
        const { heard, inTime } = await socket.exchange(frames)
        this.tally.countFrames(frames.length, heard)
        this.#judge(actor, frames, heard, inTime)
        frames = Array.from({ length: random.weighted(BURSTS) }, () => generateFrame(world, actor))
      }
      socket?.end()
    }
  }

  #judge(
    actor: Actor,
    frames: readonly (string | Buffer)[],
    heard: readonly ReceivedMessage[],
    inTime: boolean,
  ): void {
    const frameText = frames.map((frame) => String(frame.slice(0, 500))).join('\n  ')
    const add = (kind: string, detail = '') =>
      this.#findings.add({ kind, detail: `${detail}\n  ${frameText}`, asks: [] })
    if (!inTime && !this.#isOver) add('frames without an answer')
    for (const { text, message } of heard) {
      if (message?.op === undefined) add('an answer that is not a frame', text)
      if (message?.op === 'error' && message.code === 1)
        add('an internal error in an answer to a frame', text)
      if (isPlantedTextIn(actor, text)) add('data of another user, by a socket', text)
    }
  }

  /**
   * First opens sockets that never authenticate. The service must close them, or nobody else could connect.
   */
  async #holdSilentSockets(worlds: readonly FuzzContext[], end: number): Promise<void> {
    const { url } = this.#service
    const opened = Array.from({ length: SILENT_SOCKETS.sockets }, () => FuzzedSocket.open(url))
    const closed = (await Promise.all(opened)).map((socket) => socket?.closesIn(SILENT_SOCKETS.ms) ?? true)
    if (!(await Promise.all(closed)).every(Boolean))
      this.#findings.add({ kind: 'a silent socket stays open', detail: '', asks: [] })
    const { seed, families } = this.#plan
    // A random generator of their own, so that the same seed sends the same requests, whatever happens on
    // sockets.
    const ownWorlds = worlds.map((world, i) => ({ ...world, random: new Random(seed, worlds.length + i) }))
    const trying = families.length > 0 ? ownWorlds.slice(0, 1) : ownWorlds
    await Promise.all(trying.map((world) => this.#sendFrames(world, end)))
  }

  async #renew(actor: Actor, anew = false): Promise<void> {
    await this.#people.renew(actor, anew).catch((error) => {
      if (!this.#isOver)
        this.#findings.add({ kind: `${actor} gets in no more`, detail: String(error), asks: [] })
    })
  }

  /** Checks that the victim's data are unchanged. */
  async #compare(before: Map<string, string>, world: FuzzContext): Promise<void> {
    if (this.#isOver) return
    await this.#renew('victim')
    const after = await readVictimData(world, this.#service.url)
    const changed: Finding[] = [...before]
      .filter(([path, object]) => after.get(path) !== object)
      .map(([path]) => ({
        kind: `somebody changed ${path.split('/')[3]} of another`,
        detail: path,
        asks: [],
      }))
    for (const finding of changed) this.#findings.add(finding)
  }
}

/** Whether an untouched session has ended. */
const isLoggedOut = ({ loggedIn, route }: FuzzRequest, { status }: FuzzResponse): boolean =>
  loggedIn && status === 401 && !/login/i.test(route)
