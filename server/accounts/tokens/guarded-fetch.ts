import { lookup } from 'node:dns'
import { get } from 'node:https'
import { BlockList, isIP, type LookupFunction } from 'node:net'

export interface GuardedFetchOptions {
  /** Hosts whose addresses need not be public. */
  internalHosts: readonly string[]
  timeoutMs: number
  maxBytes: number
}

/** Networks outside the public Internet, and IPv6 ranges that embed IPv4 addresses (RFC 6890 and its registries). */
const INTERNAL_NETWORKS = {
  ipv4: [
    '0.0.0.0/8',
    '10.0.0.0/8',
    '100.64.0.0/10',
    '127.0.0.0/8',
    '169.254.0.0/16',
    '172.16.0.0/12',
    '192.0.0.0/24',
    '192.0.2.0/24',
    '192.88.99.0/24',
    '192.168.0.0/16',
    '198.18.0.0/15',
    '198.51.100.0/24',
    '203.0.113.0/24',
    '224.0.0.0/3',
  ],
  // All but 2000::/3, of which the public Internet is a part; and what is not public of that.
  ipv6: ['::/3', '4000::/2', '8000::/1', '2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'],
} as const

type Family = keyof typeof INTERNAL_NETWORKS

/** One list per family: in a joint list, the IPv4-mapped range of IPv6 would match every IPv4 address. */
const blockListOf = (family: Family): BlockList => {
  const list = new BlockList()
  for (const network of INTERNAL_NETWORKS[family]) {
    const [address = '', prefix] = network.split('/')
    list.addSubnet(address, Number(prefix), family)
  }
  return list
}

const internal = { ipv4: blockListOf('ipv4'), ipv6: blockListOf('ipv6') }

/** Whether an IP address is one of the public Internet. */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0) return false
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
  return !internal[family].check(address, family)
}

const refusedAddressError = () => new Error('The host has an address that is not public')

/** Resolves a host, and fails unless all its addresses are public. The connection goes to the address that was checked. */
const lookupPublic: LookupFunction = (host, options, callback) =>
  lookup(host, { ...options, all: true }, (error, addresses) => {
    const [first] = addresses ?? []
    const isRefused = !first || !addresses.every(({ address }) => isPublicAddress(address))
    if (error || isRefused) callback(error ?? refusedAddressError(), '', 0)
    else if (options.all) callback(null, addresses)
    else callback(null, first.address, first.family)
  })

/**
 * Fetches a document from an address that somebody else chose: by https, without redirects, proxies and credentials.
 * @throws Error for an internal address, any status but 200, and a document that is too large or too slow
 */
export async function guardedFetch(url: URL, options: GuardedFetchOptions): Promise<string> {
  const { internalHosts, timeoutMs, maxBytes } = options
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const isInternal = internalHosts.includes(host)
  // A host that is an IP address is never resolved.
  if (url.protocol !== 'https:' || (!isInternal && isIP(host) !== 0 && !isPublicAddress(host)))
    throw refusedAddressError()
  const signal = AbortSignal.timeout(timeoutMs)
  const request = {
    signal,
    headers: { accept: 'application/json' },
    ...(!isInternal && { lookup: lookupPublic }),
  }
  return new Promise((resolve, reject) => {
    get(url, request, (response) => {
      const chunks: Buffer[] = []
      let bytes = 0
      if (response.statusCode !== 200) response.destroy(new Error(`The status is ${response.statusCode}`))
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk)
        bytes += chunk.length
        if (bytes > maxBytes) response.destroy(new Error('The document is too large'))
      })
      response.on('end', () => resolve(Buffer.concat(chunks).toString()))
      response.on('error', reject)
    }).on('error', reject)
  })
}
