import { formatCurl } from './curl.ts'
import { type Finding, findingKeyOf } from './finding.ts'

/** The number of pending requests shown if it is unknown which one caused a finding. */
const MAX_SHOWN_REQUESTS = 8

/** The findings of a run; prints each once, when it first occurs. */
export class Findings {
  readonly #times = new Map<string, number>()
  readonly #url: string
  readonly #show: (text: string) => void

  constructor(url: string, show: (text: string) => void) {
    this.#url = url
    this.#show = show
  }

  get count(): number {
    return this.#times.size
  }

  add(finding: Finding): void {
    const key = findingKeyOf(finding)
    const times = (this.#times.get(key) ?? 0) + 1
    this.#times.set(key, times)
    if (times > 1) return
    const { kind, asks, detail, status } = finding
    const lines = asks
      .slice(0, MAX_SHOWN_REQUESTS)
      .map((ask, i) => formatCurl(this.#url, ask, `${process.pid}-${this.count}-${i}`))
    const where = asks.length === 1 ? ` ${asks[0]?.route}` : ''
    this.#show(
      [`FINDING ${this.count}: ${kind}${where} ${status ?? ''}`, ...lines, detail.slice(0, 600)].join('\n  '),
    )
  }

  /** The number of occurrences of each finding, the most frequent first. */
  summary(): string[] {
    return [...this.#times].sort(([, a], [, b]) => b - a).map(([key, times]) => `${times} times ${key}`)
  }
}
