import { curlLine } from './curl.ts'
import { type Finding, keyOf } from './finding.ts'

/** How many of what was being asked are shown when it is not known which of it did it. */
const mostLines = 8

/** The findings of a run, each shown once, when it is first made. */
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
    const key = keyOf(finding)
    const times = (this.#times.get(key) ?? 0) + 1
    this.#times.set(key, times)
    if (times > 1) return
    const { kind, asks, told, status } = finding
    const lines = asks
      .slice(0, mostLines)
      .map((ask, i) => curlLine(this.#url, ask, `${process.pid}-${this.count}-${i}`))
    const where = asks.length === 1 ? ` ${asks[0]?.route}` : ''
    this.#show(
      [`FINDING ${this.count}: ${kind}${where} ${status ?? ''}`, ...lines, told.slice(0, 600)].join('\n  '),
    )
  }

  /** How often each was made, the most frequent first. */
  summary(): string[] {
    return [...this.#times].sort(([, a], [, b]) => b - a).map(([key, times]) => `${times} times ${key}`)
  }
}
