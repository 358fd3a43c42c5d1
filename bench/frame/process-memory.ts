import { readFile } from 'node:fs/promises'

/**
 * What a process has in memory: of its own, and of files that it has mapped, which the system takes back when it needs the room. NaN
 * where Linux does not tell.
 */
export async function readMemory(pid: number | undefined): Promise<{ own: number; mapped: number }> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  const [own, mapped] = [/RssAnon:\s+(\d+)/, /RssFile:\s+(\d+)/].map(
    (pattern) => Number(pattern.exec(status)?.[1] ?? Number.NaN) / 1024,
  ) as [number, number]
  return { own, mapped }
}

/** Both together. */
export async function readResidentMegabytes(pid: number | undefined): Promise<number> {
  const { own, mapped } = await readMemory(pid)
  return own + mapped
}
