import type { Family, FuzzRequest, FuzzResponse } from './generator/context/fuzz-request.ts'
import type { ReceivedMessage } from './target/fuzzed-socket.ts'

const number = (value: number): string => Math.round(value).toLocaleString('en')

/** Counts requests and responses: a run without successes has tested nothing. */
export class FuzzTally {
  readonly requestCounts: Record<Family, number> = { path: 0, class: 0 }
  readonly #answered = new Map<string, number>()
  readonly #heard = new Map<string, number>()
  #frames = 0
  readonly #routes = new Map<string, boolean>()
  /** The number of the victim's records. */
  planted = 0
  #slowest = 0
  #begun: number | undefined

  count({ family, route }: FuzzRequest, { status, ms }: FuzzResponse): void {
    this.#begun ??= performance.now() - ms
    const kind = `${Math.floor(status / 100)}xx`
    this.requestCounts[family]++
    this.#answered.set(kind, (this.#answered.get(kind) ?? 0) + 1)
    this.#routes.set(route, this.#routes.get(route) || status < 300)
    this.#slowest = Math.max(this.#slowest, ms)
  }

  /** Counts frames and the messages received on sockets. */
  countFrames(frameCount: number, heard: readonly ReceivedMessage[]): void {
    this.#frames += frameCount
    for (const { message } of heard) {
      const op = String(message?.op)
      this.#heard.set(op, (this.#heard.get(op) ?? 0) + 1)
    }
  }

  get requests(): number {
    return this.requestCounts.path + this.requestCounts.class + this.#frames
  }

  summary(): string[] {
    return [
      ...(this.#frames < this.requests ? this.#ofRequests() : []),
      ...(this.#frames > 0 ? [this.#ofFrames()] : []),
      `${this.planted} records of the victim planted`,
    ]
  }

  #ofRequests(): string[] {
    const requests = this.requests - this.#frames
    const seconds = (performance.now() - (this.#begun ?? 0)) / 1000
    const shares = [...this.#answered]
      .sort()
      .map(([kind, times]) => `${kind} ${Math.round((100 * times) / requests)} %`)
    const routes = [...this.#routes]
    const succeeded = routes.filter(([, has]) => has)
    return [
      `${number(this.requestCounts.path)} requests of the path family, ${number(this.requestCounts.class)} of the class family`,
      `${number(seconds)} s, ${number(requests / seconds)}/s, the slowest ${number(this.#slowest)} ms`,
      `${shares.join(', ')}; ${succeeded.length} of ${routes.length} routes succeeded`,
    ]
  }

  #ofFrames(): string {
    const heard = [...this.#heard]
      .sort(([, a], [, b]) => b - a)
      .map(([op, times]) => `${number(times)} ${op}`)
    return `${number(this.#frames)} frames of live queries, heard: ${heard.join(', ')}`
  }

  /** The routes that never succeeded. */
  findUntried(): string[] {
    return [...this.#routes].filter(([, has]) => !has).map(([route]) => route)
  }
}
