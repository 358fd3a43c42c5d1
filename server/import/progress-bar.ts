const WIDTH = 30

const duration = (seconds: number): string =>
  seconds >= 3600
    ? `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`
    : seconds >= 60
      ? `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`
      : `${Math.round(seconds)} s`

/** What is told as it happens: a terminal, or something that keeps it. */
export interface Output {
  isTTY?: boolean
  write(text: string): unknown
}

/**
 * Shows how far it is, how fast, and how long it still takes; on a terminal in one line.
 * @param before entries that an earlier run has done
 */
export function progressBar(out: Output, before: number) {
  const start = performance.now()
  let last = 0
  return {
    show(read: number, entries: number): void {
      const seconds = (performance.now() - start) / 1000
      const rate = (entries - before) / Math.max(seconds, 0.001)
      const left = read > 0 && rate > 0 ? (entries / read - entries) / rate : 0
      const full = Math.round(WIDTH * Math.min(read, 1))
      const bar = `[${'#'.repeat(full)}${'-'.repeat(WIDTH - full)}] ${Math.round(100 * Math.min(read, 1))}%`
      const line = `${bar}  ${Math.round(rate)} entries/s, ${duration(left)} left`
      if (out.isTTY) out.write(`\r\x1b[K${line}`)
      else if (seconds - last >= 5 || read >= 1) {
        last = seconds
        out.write(`${line}\n`)
      }
    },
    /** Leaves its line to what is told next. */
    end(): void {
      if (out.isTTY) out.write('\r\x1b[K')
    },
  }
}
