import type { RequestHandler } from 'express'
import { isLoopbackAddress } from '../../records/limits/loopback.ts'
import type { Log } from '../telemetry/log.ts'

/** Headers with which a proxy says that it forwards the request of somebody else. */
const FORWARDING_HEADER =
  /^(forwarded|via|cdn-loop)$|^x-(forwarded|original|remote|envoy)|(client|connecting|real|user)-?ip$/
/** The unspecified address: the client of the proxy is unknown, but is not this machine. */
const UNKNOWN_ADDRESS = '0.0.0.0'

/**
 * Hides the address of a proxy on this machine that TRUST_PROXY does not name. Otherwise all its clients
 * would count as this machine, which may use the master key.
 */
export function hideUndeclaredProxy(log: Log): RequestHandler {
  let hasWarned = false
  return (request, _response, next) => {
    const isForwarded = Object.keys(request.headers).some((name) => FORWARDING_HEADER.test(name))
    // `ips` has the addresses that a trusted proxy names.
    if (isForwarded && request.ips.length === 0 && isLoopbackAddress(request.ip ?? '')) {
      Object.defineProperty(request, 'ip', { value: UNKNOWN_ADDRESS, configurable: true })
      if (!hasWarned) log.warn('A proxy forwards requests, but TRUST_PROXY does not name it')
      hasWarned = true
    }
    next()
  }
}
