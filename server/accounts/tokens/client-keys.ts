import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  errors,
  type JSONWebKeySet,
  type JWTVerifyGetKey,
} from 'jose'
import { LRUCache } from 'lru-cache'
import type { App } from '../../../schemas/accounts/app.ts'
import { type GuardedFetchOptions, guardedFetch } from './guarded-fetch.ts'

/** Finds the public keys of an app; undefined for an app without. */
export type FindClientKeys = (app: Pick<App, 'jwks' | 'jwksUri'>) => JWTVerifyGetKey | undefined

const MAX_KEY_SET_BYTES = 64 * 1024
const FETCH_TIMEOUT_MS = 5000
/** A fetched key set is used for this time. An app that changes its keys shows the new one for as long beforehand. */
const KEY_SET_TTL_MS = 10 * 60_000
/** An unknown key causes another fetch, at most once in this time. */
const FETCH_COOLDOWN_MS = 30_000
/** Key sets that are remembered. */
const MAX_KEY_SETS = 1000

/** @param internalHosts hosts whose addresses need not be public */
export function createClientKeys(internalHosts: readonly string[]): FindClientKeys {
  const options = { internalHosts, timeoutMs: FETCH_TIMEOUT_MS, maxBytes: MAX_KEY_SET_BYTES }
  const remote = new LRUCache<string, JWTVerifyGetKey>({ max: MAX_KEY_SETS })
  return ({ jwks, jwksUri }) => {
    if (jwksUri === undefined) return jwks && createLocalJWKSet(jwks as JSONWebKeySet)
    const keys = remote.get(jwksUri) ?? createRemoteKeys(jwksUri, options)
    remote.set(jwksUri, keys)
    return keys
  }
}

const createRemoteKeys = (jwksUri: string, options: GuardedFetchOptions): JWTVerifyGetKey =>
  createRemoteJWKSet(new URL(jwksUri), {
    timeoutDuration: FETCH_TIMEOUT_MS,
    cooldownDuration: FETCH_COOLDOWN_MS,
    cacheMaxAge: KEY_SET_TTL_MS,
    [customFetch]: async (url) => {
      try {
        return new Response(await guardedFetch(new URL(url), options))
      } catch (cause) {
        // An app that publishes an invalid key set gets a refusal: it is not a fault of the service.
        throw new errors.JWKSInvalid('The key set cannot be fetched', { cause })
      }
    },
  })
