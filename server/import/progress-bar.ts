const BAR_WIDTH = 30

function formatDuration(seconds: number): string {
  if (seconds >= 3600) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`
  if (seconds >= 60) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`
  return `${Math.round(seconds)} s`
}

/** Output stream: a terminal or a file. */
export interface Output {
  isTTY?: boolean
  write(text: string): unknown
}

/**
 * Shows progress, speed and remaining time; on a terminal in one line.
 * @param before entries of an earlier run
 */
export function createProgressBar(out: Output, before: number) {
  const start = performance.now()
  let last = 0
  return {
    show(read: number, entries: number): void {
      const seconds = (performance.now() - start) / 1000
      const rate = (entries - before) / Math.max(seconds, 0.001)
      const left = read > 0 && rate > 0 ? (entries / read - entries) / rate : 0
      const full = Math.round(BAR_WIDTH * Math.min(read, 1))
      const bar = `[${'#'.repeat(full)}${'-'.repeat(BAR_WIDTH - full)}] ${Math.round(100 * Math.min(read, 1))}%`
      const line = `${bar}  ${Math.round(rate)} entries/s, ${formatDuration(left)} left`
      if (out.isTTY) out.write(`\r\x1b[K${line}`)
      else if (seconds - last >= 5 || read >= 1) {
        last = seconds
        out.write(`${line}\n`)
      }
    },
    /** Ends the progress line before other output. */
    end(): void {
      if (out.isTTY) out.write('\r\x1b[K')
    },
  }
}
