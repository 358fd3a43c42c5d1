import { readFile } from 'node:fs/promises'

/**
 * The memory of a process in MB: its own, and the mapped pages of files, which the system can reclaim. NaN on other systems
 * than Linux.
 */
export async function readMemory(pid: number | undefined): Promise<{ own: number; mapped: number }> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  const [own, mapped] = [/RssAnon:\s+(\d+)/, /RssFile:\s+(\d+)/].map(
    (pattern) => Number(pattern.exec(status)?.[1] ?? Number.NaN) / 1024,
  ) as [number, number]
  return { own, mapped }
}

/** Own and mapped memory together, in MB. */
export async function readResidentMegabytes(pid: number | undefined): Promise<number> {
  const { own, mapped } = await readMemory(pid)
  return own + mapped
}
