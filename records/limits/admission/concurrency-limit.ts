/** How many times longer than on an idle service a request may take. */
const MAX_SLOWDOWN = 3
/**
 * Requests that start while at most this share of the limit and this many others run take about as long as on an idle
 * service. The share alone would grow with the limit, and the limit with the latency.
 */
const IDLE_SHARE = 1 / 4
const MAX_IDLE_REQUESTS = 16
/** Weight of one request in the average cost. */
const WEIGHT = 0.05
/**
 * Weights of one request in the latency on an idle service. A fast one counts more, since what makes requests slow is
 * mostly load that is not seen here: a cold start, or another program.
 */
const FASTER_WEIGHT = 0.2
const SLOWER_WEIGHT = 0.02
/** Requests that take longer have mostly waited for something else. */
const MAX_LATENCY_MS = 500

/** A request that runs. */
export interface RunningRequest {
  beganAtMs: number
  /** The shared time at its beginning. */
  sharedMs: number
  isIdle: boolean
}

interface ConcurrencyLimitOptions {
  /** The limit never falls below it, so that writes can share transactions. */
  min: number
  /** The time that requests may always take, however fast they are on an idle service. */
  minLatencyMs: number
}

/** The limits of all requests, and of those of one account. Tests that stop requests raise them. */
export const CONCURRENCY_LIMITS: Record<'all' | 'account', ConcurrencyLimitOptions> = {
  all: { min: 16, minLatencyMs: 40 },
  account: { min: 16, minLatencyMs: 20 },
}

/**
 * Adapts the number of requests that run at once to the machine: it lets them take up to three times as long as on an
 * idle service. More of them would only wait for each other.
 */
export class ConcurrencyLimit {
  readonly #options: ConcurrencyLimitOptions
  #running = 0
  /** While n requests run, each millisecond counts as 1/n. The difference over a request is what it costs. */
  #sharedMs = 0
  #countedUntilMs = 0
  /** The time of a request on an idle service; undefined before the first one. */
  #idleLatencyMs: number | undefined
  #costMs = 1

  constructor(options: ConcurrencyLimitOptions) {
    this.#options = options
  }

  get running(): number {
    return this.#running
  }

  /** The time that a request costs on average, which is how much each further one delays the others. */
  get costMs(): number {
    return this.#costMs
  }

  get value(): number {
    const { min, minLatencyMs } = this.#options
    const latencyMs = Math.max(minLatencyMs, MAX_SLOWDOWN * (this.#idleLatencyMs ?? 0))
    return Math.max(min, Math.floor(latencyMs / this.#costMs))
  }

  get isReached(): boolean {
    return this.#running >= this.value
  }

  begin(nowMs: number): RunningRequest {
    this.#count(nowMs)
    const isIdle = this.#running <= Math.min(MAX_IDLE_REQUESTS, this.value * IDLE_SHARE)
    this.#running += 1
    return { beganAtMs: nowMs, sharedMs: this.#sharedMs, isIdle }
  }

  /**
   * @param hasFailed whether the request timed out or the database failed: its duration then says nothing about others
   * @returns the time that the request has cost
   */
  end({ beganAtMs, sharedMs, isIdle }: RunningRequest, nowMs: number, hasFailed: boolean): number {
    this.#count(nowMs)
    this.#running -= 1
    if (hasFailed) return 0
    const costMs = this.#sharedMs - sharedMs
    this.#costMs += WEIGHT * (Math.min(costMs, MAX_LATENCY_MS) - this.#costMs)
    if (isIdle) this.#learnIdleLatency(Math.min(nowMs - beganAtMs, MAX_LATENCY_MS))
    return costMs
  }

  #learnIdleLatency(latencyMs: number): void {
    const idleLatencyMs = this.#idleLatencyMs ?? latencyMs
    this.#idleLatencyMs =
      idleLatencyMs +
      (latencyMs < idleLatencyMs ? FASTER_WEIGHT : SLOWER_WEIGHT) * (latencyMs - idleLatencyMs)
  }

  #count(nowMs: number): void {
    if (this.#running > 0) this.#sharedMs += (nowMs - this.#countedUntilMs) / this.#running
    this.#countedUntilMs = nowMs
  }
}
