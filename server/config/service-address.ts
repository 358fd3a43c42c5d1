import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { webAddress } from './setting-kinds.ts'

/** Addresses of a running service. */
interface ServiceAddress {
  /** For programs on this machine. */
  url: string
  /** Start of links in mails. */
  publicUrl: string
}

export const addressFileOf = (dataDir: string): string => join(dataDir, 'service.json')

/** Address for this machine of a service that listens on HOST, which may mean all networks. */
export function localUrlOf({ host, port }: { host: string; port: number | string }): string {
  return urlOf({ host: { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host, port })
}

/** An IPv6 address stands in brackets. */
export const urlOf = ({ host, port }: { host: string; port: number | string }): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`

/**
 * Stores the addresses in DATA_DIR, where commands look for them. A service that needs no DATA_DIR may have none.
 * @returns a function that removes them, unless another service has replaced them
 */
export function storeAddress(dataDir: string, address: ServiceAddress): () => void {
  const path = addressFileOf(dataDir)
  const text = `${JSON.stringify({ ...address, process: process.pid })}\n`
  try {
    writeFileSync(path, text, { mode: 0o600 })
  } catch {
    return () => {}
  }
  return () => {
    if (readText(path) === text) rmSync(path, { force: true })
  }
}

/** @returns the addresses of the service that runs on DATA_DIR, or was killed there */
export function readAddress(dataDir: string): ServiceAddress | undefined {
  try {
    const { url, publicUrl } = JSON.parse(readText(addressFileOf(dataDir)) ?? '')
    return [url, publicUrl].every((address) => webAddress.read(String(address)))
      ? { url, publicUrl }
      : undefined
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
