/** The counts of a run so far. */
export interface Counts {
  requests: number
  findings: number
}

const number = (value: number): string => Math.round(value).toLocaleString('en')

/** A progress line on a terminal; prints nothing elsewhere. */
export class Progress {
  readonly #begun = performance.now()
  readonly #timer: NodeJS.Timeout | undefined

  constructor(seconds: number, counts: () => Counts) {
    if (process.stderr.isTTY) this.#timer = setInterval(() => this.#draw(seconds, counts()), 500)
  }

  #draw(seconds: number, counts: Counts): void {
    const gone = this.seconds
    const left = Math.max(0, Math.ceil(seconds - gone))
    this.#write(
      `${number(counts.requests)} requests, ${number(counts.requests / gone)}/s, ${left} s left, ${counts.findings} findings`,
    )
  }

  get seconds(): number {
    return (performance.now() - this.#begun) / 1000
  }

  #write = (text: string): boolean => process.stderr.write(`\r\x1b[K${text}`)

  /** Clears the line for other output. */
  clear(): void {
    if (this.#timer) this.#write('')
  }

  end(): void {
    clearInterval(this.#timer)
    this.clear()
  }
}
