import { type CryptoKey, exportJWK, generateKeyPair, importJWK } from 'jose'
import type { ClientSession, Collection, Db } from 'mongodb'
import { isDuplicateKeyError } from '../../records/store/documents/database.ts'
import { newId } from '../../records/store/documents/ids.ts'
import { syncIndexes } from '../../records/store/documents/indexes.ts'
import type { JsonWebKey } from '../../schemas/accounts/login.ts'
import { DAY_MS } from '../../schemas/time/durations.ts'
import { createKeyEncryption, type KeyEncryption } from './key-encryption.ts'

export const SIGNING_ALGORITHM = 'ES256'

interface StoredKey {
  _id: string
  publicKey: JsonWebKey
  /** Private key, encrypted with a key from the configuration. */
  sealed: string
  createdAt: Date
  /** Greater than that of every former key, whatever the clocks showed. Keys of an earlier release have none. */
  sequence?: number
  /** Set when a newer key signs. After this time all tokens of the key have expired. */
  expiresAt?: Date
}

interface SigningKey {
  kid: string
  key: CryptoKey
}

export interface SigningKeys {
  current(): Promise<SigningKey>
  /** Public key; undefined for an unknown or removed id. */
  findVerificationKey(kid: string): Promise<CryptoKey | undefined>
  /** Public keys of tokens that may still be valid, newest first. */
  publicKeys(): Promise<JsonWebKey[]>
  /** Creates a new key; all instances sign with it within a minute. */
  rotate(): Promise<void>
}

export interface SigningKeyOptions {
  db: Db
  encryption: KeyEncryption
  /** Maximum age of a signing key in days. */
  maxAgeDays: number
  /** Lifetime of a token in seconds. */
  tokenLifetime: number
  clock: () => Date
}

type NewKeyOptions = Omit<SigningKeyOptions, 'maxAgeDays'>

const signingKeysOf = (db: Db): Collection<StoredKey> => db.collection<StoredKey>('auth.signing_keys')

/** Encryption of the private keys with KEY_ENCRYPTION_KEY. */
export const signingKeyEncryption = (keyEncryptionKey: string): KeyEncryption =>
  createKeyEncryption(keyEncryptionKey, 'signing keys')

/** Maximum age of cached keys; new keys of other instances are used within this time. */
const KEY_REFRESH_INTERVAL_MS = 60_000
/** Minimum interval between reloads because of tokens with unknown key ids. */
const KEY_RETRY_INTERVAL_MS = 1_000

/** Cached keys. */
interface LoadedKeys {
  at: number
  current: SigningKey
  verifying: Map<string, CryptoKey>
  publicKeys: JsonWebKey[]
}

/**
 * Opens the signing keys of access tokens. They are created when needed and stored in the database for all
 * instances, with the private keys encrypted. A replaced key stays published until its last token has
 * expired.
 * @see docs/decisions/tokens.md
 */
export async function openSigningKeys(options: SigningKeyOptions): Promise<SigningKeys> {
  const { db, clock } = options
  const keys = signingKeysOf(db)
  await syncIndexes(keys, [
    { key: { expiresAt: 1 }, name: 'expiry', expireAfterSeconds: 0 },
    { key: { sequence: 1 }, name: 'sequence', unique: true, sparse: true },
  ])
  let loading: Promise<LoadedKeys> | undefined
  let loadedKeys = await loadKeys(keys, options)

  const loadFreshKeys = async (maxAgeMs: number): Promise<LoadedKeys> => {
    if (clock().getTime() - loadedKeys.at < maxAgeMs) return loadedKeys
    loading ??= loadKeys(keys, options, loadedKeys.current).finally(() => {
      loading = undefined
    })
    loadedKeys = await loading
    return loadedKeys
  }
  return {
    current: async () => (await loadFreshKeys(KEY_REFRESH_INTERVAL_MS)).current,
    findVerificationKey: async (kid) =>
      (await loadFreshKeys(KEY_REFRESH_INTERVAL_MS)).verifying.get(kid) ??
      (await loadFreshKeys(KEY_RETRY_INTERVAL_MS)).verifying.get(kid),
    publicKeys: async () => (await loadFreshKeys(KEY_REFRESH_INTERVAL_MS)).publicKeys,
    rotate: async () => {
      await createKey(keys, options)
      loadedKeys = await loadKeys(keys, options)
    },
  }
}

async function loadKeys(
  keys: Collection<StoredKey>,
  options: SigningKeyOptions,
  loadedKey?: SigningKey,
): Promise<LoadedKeys> {
  const now = options.clock()
  const findUsable = async () => {
    const usable = { $or: [{ expiresAt: { $exists: false } }, { expiresAt: { $gt: now } }] }
    return (await keys.find(usable).toArray()).sort(compareNewestFirst)
  }
  let storedKeys = await findUsable()
  const newest = storedKeys.find(({ expiresAt }) => !expiresAt)
  const tooOld = newest && now.getTime() - newest.createdAt.getTime() > options.maxAgeDays * DAY_MS
  let current = newest && !tooOld ? await decryptKey(newest, options.encryption, loadedKey) : undefined
  if (!current) {
    current = await createKey(keys, options)
    storedKeys = await findUsable()
  }
  const verifying = await Promise.all(
    storedKeys.map(async ({ _id, publicKey }) => [_id, (await importJWK(publicKey)) as CryptoKey] as const),
  )
  return {
    at: now.getTime(),
    current,
    verifying: new Map(verifying),
    publicKeys: storedKeys.map(({ publicKey }) => publicKey),
  }
}

/**
 * The key that signs comes first: it alone has no end. An instance of an earlier release that runs beside this one
 * ends the others, too, when it creates a key.
 */
const compareNewestFirst = (a: StoredKey, b: StoredKey): number =>
  Number(Boolean(a.expiresAt)) - Number(Boolean(b.expiresAt)) ||
  (b.sequence ?? 0) - (a.sequence ?? 0) ||
  b.createdAt.getTime() - a.createdAt.getTime()

/** @returns true also when there are no keys */
export async function canDecryptSigningKeys(db: Db, encryption: KeyEncryption): Promise<boolean> {
  const storedKeys = await signingKeysOf(db).find().toArray()
  return (
    storedKeys.length === 0 ||
    storedKeys.some(({ sealed: encryptedKey }) => encryption.decrypt(encryptedKey) !== undefined)
  )
}

/**
 * Re-encrypts the private keys. A key that cannot be decrypted stays unchanged and verifies until it expires.
 */
export async function reencryptSigningKeys(
  db: Db,
  session: ClientSession,
  former: KeyEncryption,
  encryption: KeyEncryption,
): Promise<void> {
  for (const { _id, sealed: encryptedKey } of await signingKeysOf(db).find({}, { session }).toArray()) {
    const plain = former.decrypt(encryptedKey)
    const $set = { sealed: encryption.encrypt(plain ?? '') }
    if (plain !== undefined) await signingKeysOf(db).updateOne({ _id }, { $set }, { session })
  }
}

/** Replaces keys that cannot be decrypted any more. */
export async function replaceSigningKeys(session: ClientSession, options: NewKeyOptions): Promise<void> {
  await createKey(signingKeysOf(options.db), options, session)
}

/** Decrypts a private key. If it was encrypted under another configuration, a new key replaces it. */
async function decryptKey(
  { _id, sealed: encryptedKey }: StoredKey,
  encryption: KeyEncryption,
  loadedKey: SigningKey | undefined,
): Promise<SigningKey | undefined> {
  // The key may have been re-encrypted; a running instance continues to sign with it.
  if (loadedKey?.kid === _id) return loadedKey
  const jwk = encryption.decrypt(encryptedKey)
  if (jwk === undefined) return undefined
  return { kid: _id, key: (await importJWK(JSON.parse(jwk), SIGNING_ALGORITHM)) as CryptoKey }
}

/** Creates the new signing key and sets the expiry of the others. */
async function createKey(
  keys: Collection<StoredKey>,
  { encryption, clock, tokenLifetime }: NewKeyOptions,
  session?: ClientSession,
): Promise<SigningKey> {
  const inSession = session ? { session } : {}
  const now = clock()
  const kid = newId()
  const pair = await generateKeyPair(SIGNING_ALGORITHM, { extractable: true })
  const { kty, crv, x, y } = await exportJWK(pair.publicKey)
  const publicKey = { kty, crv, x, y, alg: SIGNING_ALGORITHM, use: 'sig', kid } as JsonWebKey
  const encryptedKey = encryption.encrypt(JSON.stringify(await exportJWK(pair.privateKey)))
  const sequence = await insertLast(
    keys,
    { _id: kid, publicKey, sealed: encryptedKey, createdAt: now },
    session,
  )
  const lastUse = now.getTime() + KEY_REFRESH_INTERVAL_MS + tokenLifetime * 1000
  await keys.updateMany(
    { sequence: { $not: { $gte: sequence } }, expiresAt: { $exists: false } },
    { $set: { expiresAt: new Date(lastUse + KEY_REFRESH_INTERVAL_MS) } },
    inSession,
  )
  return { kid, key: pair.privateKey }
}

/** Stores a key after all others. @returns its number */
async function insertLast(
  keys: Collection<StoredKey>,
  key: StoredKey,
  session?: ClientSession,
): Promise<number> {
  const inSession = session ? { session } : {}
  const last = await keys.findOne({}, { sort: { sequence: -1 }, ...inSession })
  const sequence = (last?.sequence ?? 0) + 1
  try {
    await keys.insertOne({ ...key, sequence }, inSession)
    return sequence
  } catch (error) {
    // Another instance has stored a key at the same time. A transaction cannot continue.
    if (session || !isDuplicateKeyError(error)) throw error
    return insertLast(keys, key)
  }
}
