import { createHash, createHmac, randomBytes, randomInt } from 'node:crypto'

const ID_ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** A new id in the form of Parse's objectIds: 10 letters and digits, 59 bits of the system's randomness. */
export function newId(): string {
  let id = ''
  for (let i = 0; i < 10; i++) id += ID_ALPHABET[randomInt(ID_ALPHABET.length)]
  return id
}

/** The range of the ids with this prefix, for a filter: up to the prefix with the next character at its end. */
export const idsWithPrefix = (prefix: string): { $gte: string; $lt: string } => ({
  $gte: prefix,
  $lt: prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1),
})

/** Length of the prefix that sequential ids share; the remaining 3 characters are a counter. */
const PREFIX_LENGTH = 7
const SUFFIX_COUNT = ID_ALPHABET.length ** 3

/**
 * Generates up to 238,328 ids for records that are stored together, from a random prefix and a counter. They lie
 * together in every index that starts with them, and do not reveal the time. @param newId source of the randomness
 */
export function createSequentialIdGenerator(newId: IdGenerators['newId']): IdGenerators['newId'] {
  const head = newId().slice(0, PREFIX_LENGTH)
  const tail = newId().slice(PREFIX_LENGTH)
  let next = [...tail].reduce((sum, letter) => sum * ID_ALPHABET.length + ID_ALPHABET.indexOf(letter), 0)
  return () => head + suffixOf(next++ % SUFFIX_COUNT)
}

const suffixOf = (number: number): string => {
  const digit = (placeValue: number): string =>
    ID_ALPHABET[Math.floor(number / placeValue) % ID_ALPHABET.length] as string
  return digit(ID_ALPHABET.length ** 2) + digit(ID_ALPHABET.length) + digit(1)
}

/** A new UUID of version 7, which starts with the time, so that new ids lie together in an index. */
export function newUuid(): string {
  const bytes = randomBytes(16)
  bytes.writeUIntBE(Date.now(), 0, 6)
  return formatUuid(bytes, 7)
}

/** @param bytes 16 bytes; six bits are overwritten with version and variant */
function formatUuid(bytes: Buffer, version: number): string {
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | (version << 4), 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest()

/** A UUID that is always the same for the same text: version 8 of RFC 9562. */
export const uuidFromText = (text: string): string => formatUuid(sha256(text).subarray(0, 16), 8)

/** An id in the form of {@link newId} that is always the same for the same text. */
export function idFromText(text: string): string {
  const bytes = sha256(text)
  return Array.from(
    { length: 10 },
    (_, i) => ID_ALPHABET[bytes.readUInt16BE(2 * i) % ID_ALPHABET.length],
  ).join('')
}

/** Generates the ids of new records. */
export interface IdGenerators {
  newId(): string
  newUuid(): string
}

/** Generates the same ids in the same order for the same secret seed. The ids do not reveal the time. */
export function createSeededIdGenerators(seed: Buffer): IdGenerators {
  let count = 0
  const next = () => createHmac('sha256', seed).update(String(count++)).digest()
  return {
    newId: () =>
      Array.from(next().subarray(0, 10), (byte) => ID_ALPHABET[byte % ID_ALPHABET.length]).join(''),
    newUuid: () => formatUuid(next().subarray(0, 16), 8),
  }
}
