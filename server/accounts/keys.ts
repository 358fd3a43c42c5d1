import { type CryptoKey, exportJWK, generateKeyPair, importJWK } from 'jose'
import type { Collection, Db } from 'mongodb'
import { newId } from '../../records/store/documents/ids.ts'
import { makeIndexes } from '../../records/store/documents/indexes.ts'
import type { JsonWebKey } from '../../schemas/login.ts'
import type { Seal } from './sealed.ts'

export const algorithm = 'ES256'

interface StoredKey {
  /** The key id. */
  _id: string
  publicKey: JsonWebKey
  /** The private key, encrypted with a key from the configuration. */
  sealed: string
  createdAt: Date
  /** Set when a newer key signs: after this nobody holds a valid token of it. */
  expiresAt?: Date
}

interface SigningKey {
  kid: string
  key: CryptoKey
}

export interface SigningKeys {
  current(): Promise<SigningKey>
  /** The key that verifies; undefined when none has that id, or it was removed. */
  verifying(kid: string): Promise<CryptoKey | undefined>
  /** Those of tokens that may still be valid, the newest first. */
  publicKeys(): Promise<JsonWebKey[]>
  /** Makes a new key; all instances sign with it within a minute. */
  rotate(): Promise<void>
}

export interface KeyOptions {
  db: Db
  seal: Seal
  /** Days after which a new key takes over. */
  maxAgeDays: number
  /** Seconds for which a token is valid. */
  tokenLifetime: number
  clock: () => Date
}

const day = 24 * 3_600_000
/** How old the keys in memory may be: what another instance made is used within this time. */
const refreshMs = 60_000
/** How soon a token with an unknown key id makes us look again. */
const retryMs = 1_000

/** The keys in memory. */
interface Loaded {
  at: number
  current: SigningKey
  verifying: Map<string, CryptoKey>
  publicKeys: JsonWebKey[]
}

/**
 * The keys that sign access tokens: made when needed, kept in the database for all instances, the private ones
 * encrypted. A key that has been replaced stays published until its last token has expired.
 * @see docs/decisions/tokens.md
 */
export async function openSigningKeys(options: KeyOptions): Promise<SigningKeys> {
  const { db, clock } = options
  const keys = db.collection<StoredKey>('auth.signing_keys')
  await makeIndexes(keys, [{ key: { expiresAt: 1 }, name: 'expiry', expireAfterSeconds: 0 }])
  let loading: Promise<Loaded> | undefined
  let loaded = await load(keys, options)

  const fresh = async (maxAgeMs: number): Promise<Loaded> => {
    if (clock().getTime() - loaded.at < maxAgeMs) return loaded
    loading ??= load(keys, options).finally(() => {
      loading = undefined
    })
    loaded = await loading
    return loaded
  }
  return {
    current: async () => (await fresh(refreshMs)).current,
    verifying: async (kid) =>
      (await fresh(refreshMs)).verifying.get(kid) ?? (await fresh(retryMs)).verifying.get(kid),
    publicKeys: async () => (await fresh(refreshMs)).publicKeys,
    rotate: async () => {
      await makeKey(keys, options)
      loaded = await load(keys, options)
    },
  }
}

async function load(keys: Collection<StoredKey>, options: KeyOptions): Promise<Loaded> {
  const now = options.clock()
  const usable = () =>
    keys
      .find({ $or: [{ expiresAt: { $exists: false } }, { expiresAt: { $gt: now } }] })
      .sort({ createdAt: -1, _id: 1 })
      .toArray()
  let stored = await usable()
  const newest = stored[0]
  const tooOld = newest && now.getTime() - newest.createdAt.getTime() > options.maxAgeDays * day
  let current = newest && !tooOld ? await opened(newest, options.seal) : undefined
  if (!current) {
    current = await makeKey(keys, options)
    stored = await usable()
  }
  const verifying = await Promise.all(
    stored.map(async ({ _id, publicKey }) => [_id, (await importJWK(publicKey)) as CryptoKey] as const),
  )
  return {
    at: now.getTime(),
    current,
    verifying: new Map(verifying),
    publicKeys: stored.map(({ publicKey }) => publicKey),
  }
}

/** A private key that was encrypted under another configuration is of no use: a new one takes over. */
async function opened({ _id, sealed }: StoredKey, seal: Seal): Promise<SigningKey | undefined> {
  const jwk = seal.open(sealed)
  if (jwk === undefined) return undefined
  return { kid: _id, key: (await importJWK(JSON.parse(jwk), algorithm)) as CryptoKey }
}

/** Makes a key that signs from now on, and lets the others run out. */
async function makeKey(
  keys: Collection<StoredKey>,
  { seal, clock, tokenLifetime }: KeyOptions,
): Promise<SigningKey> {
  const now = clock()
  const kid = newId()
  const pair = await generateKeyPair(algorithm, { extractable: true })
  const { kty, crv, x, y } = await exportJWK(pair.publicKey)
  const publicKey = { kty, crv, x, y, alg: algorithm, use: 'sig', kid } as JsonWebKey
  const sealed = seal.seal(JSON.stringify(await exportJWK(pair.privateKey)))
  await keys.insertOne({ _id: kid, publicKey, sealed, createdAt: now })
  const lastUse = now.getTime() + refreshMs + tokenLifetime * 1000
  await keys.updateMany(
    { _id: { $ne: kid }, createdAt: { $lte: now }, expiresAt: { $exists: false } },
    { $set: { expiresAt: new Date(lastUse + refreshMs) } },
  )
  return { kid, key: pair.privateKey }
}
