import { createHmac, randomBytes, randomInt } from 'node:crypto'

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** A new id in the form of Parse's objectIds: 10 letters and digits, 59 bits of the system's randomness. */
export function newId(): string {
  let id = ''
  for (let i = 0; i < 10; i++) id += LETTERS[randomInt(LETTERS.length)]
  return id
}

/** What ids that are made together have in common, of their 10 letters; as many others count them. */
const HEAD = 7
const TAILS = LETTERS.length ** 3

/**
 * A source of ids for records that are stored together, at most 238,328: a random head, and numbers in a row behind it. In
 * every index that leads with them they lie together, where random ones touch a page each of a large index, and they do
 * not tell the time.
 * @param newId where their randomness comes from
 */
export function idsTogether(newId: Ids['newId']): Ids['newId'] {
  const [head, tail] = [newId().slice(0, HEAD), newId().slice(HEAD)]
  let next = [...tail].reduce((sum, letter) => sum * LETTERS.length + LETTERS.indexOf(letter), 0)
  return () => head + tailOf(next++ % TAILS)
}

const tailOf = (number: number): string => {
  const digit = (place: number): string => LETTERS[Math.floor(number / place) % LETTERS.length] as string
  return digit(LETTERS.length ** 2) + digit(LETTERS.length) + digit(1)
}

/**
 * A new UUID that begins with the time (version 7): in every index that leads with it, what is written together lies together.
 * Random ones touch a page each of a large index.
 */
export function newUuid(): string {
  const bytes = randomBytes(16)
  bytes.writeUIntBE(Date.now(), 0, 6)
  return uuidIn(bytes, 7)
}

/** @param bytes 16 of them, of which six bits become its version and variant */
function uuidIn(bytes: Buffer, version: number): string {
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | (version << 4), 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** Where the ids of new records come from. */
export interface Ids {
  newId(): string
  newUuid(): string
}

/** A source that gives the same ones, in the same order, for the same secret seed. Nothing in them tells the time. */
export function seededIds(seed: Buffer): Ids {
  let count = 0
  const next = () => createHmac('sha256', seed).update(String(count++)).digest()
  return {
    newId: () => Array.from(next().subarray(0, 10), (byte) => LETTERS[byte % LETTERS.length]).join(''),
    newUuid: () => uuidIn(next().subarray(0, 16), 8),
  }
}
