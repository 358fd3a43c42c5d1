import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type EmbeddedMongo, startEmbeddedMongo, withDatabase } from '@health-record-service/embedded-mongo'
import { MongoClient } from 'mongodb'
import { type CrashService, createServiceStarter } from '../service/crash-service.ts'

const DATABASE = 'sequences'
const AUDIT_KEY = 'the-key-of-the-audit-for-tests-of-sequences'

/** Two instances of the service and an engine, each of which a test kills and starts again. */
export class Cluster {
  readonly auditKey = AUDIT_KEY
  readonly client: MongoClient
  readonly #start: () => Promise<CrashService>
  readonly #startEngine: () => Promise<EmbeddedMongo>
  readonly #dataDir: string
  #engine: EmbeddedMongo
  #services: CrashService[]

  private constructor(
    client: MongoClient,
    dataDir: string,
    [startEngine, engine]: [() => Promise<EmbeddedMongo>, EmbeddedMongo],
    [start, services]: [() => Promise<CrashService>, CrashService[]],
  ) {
    this.client = client
    this.#dataDir = dataDir
    ;[this.#startEngine, this.#engine] = [startEngine, engine]
    ;[this.#start, this.#services] = [start, services]
  }

  static async start(): Promise<Cluster> {
    const dataDir = mkdtempSync(join(tmpdir(), 'sequences-'))
    const startEngine = () => startEmbeddedMongo({ dataDir })
    const engine = await startEngine()
    const more = { INSTANCES: 'several' }
    const start = await createServiceStarter(withDatabase(engine.uri, DATABASE), AUDIT_KEY, () => {}, more)
    const services = [await start(), await start()]
    return new Cluster(new MongoClient(engine.uri), dataDir, [startEngine, engine], [start, services])
  }

  get db() {
    return this.client.db(DATABASE)
  }

  service(number: number): CrashService {
    return this.#services[number % this.#services.length] as CrashService
  }

  async killService(number: number): Promise<void> {
    await this.service(number).kill()
    this.#services[number % this.#services.length] = await this.#start()
  }

  async killEngine(): Promise<void> {
    process.kill(this.#engine.pid, 'SIGKILL')
    await this.#engine.exited
    this.#engine = await this.#startEngine()
  }

  /** Commands wait meanwhile, and time out: a commit may succeed although its request fails. */
  async freezeEngine(ms: number): Promise<void> {
    process.kill(this.#engine.pid, 'SIGSTOP')
    await sleep(ms)
    process.kill(this.#engine.pid, 'SIGCONT')
  }

  async stop(): Promise<void> {
    await this.client.close()
    for (const service of this.#services) await service.kill()
    await this.#engine.stop()
    rmSync(this.#dataDir, { recursive: true, force: true })
  }
}
