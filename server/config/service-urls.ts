import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { webUrl } from './setting-kinds.ts'

/** URLs of a running service. */
interface ServiceUrls {
  /** For programs on this machine. */
  url: string
  /** Start of links in mails. */
  publicUrl: string
}

export const urlFileOf = (dataDir: string): string => join(dataDir, 'service.json')

/** URL for this machine of a service that listens on HOST, which may mean all networks. */
export function localUrlOf({ host, port }: { host: string; port: number | string }): string {
  return urlOf({ host: { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host, port })
}

/** An IPv6 address stands in brackets. */
export const urlOf = ({ host, port }: { host: string; port: number | string }): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`

/**
 * Stores the URLs in DATA_DIR, where commands look for them. A service that needs no DATA_DIR may have none.
 * @returns a function that removes them, unless another service has replaced them
 */
export function storeServiceUrls(dataDir: string, urls: ServiceUrls): () => void {
  const path = urlFileOf(dataDir)
  const text = `${JSON.stringify({ ...urls, process: process.pid })}\n`
  try {
    writeFileSync(path, text, { mode: 0o600 })
  } catch {
    return () => {}
  }
  return () => {
    if (readText(path) === text) rmSync(path, { force: true })
  }
}

/** @returns the URLs of the service that runs on DATA_DIR, or was killed there */
export function readServiceUrls(dataDir: string): ServiceUrls | undefined {
  try {
    const { url, publicUrl } = JSON.parse(readText(urlFileOf(dataDir)) ?? '')
    return [url, publicUrl].every((one) => webUrl.read(String(one))) ? { url, publicUrl } : undefined
  } catch {
    return undefined
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
