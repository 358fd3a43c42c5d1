import { randomInt } from 'node:crypto'

const SEED = randomInt(2 ** 31)
const FREE = -1

/** Numbers strings of bytes in the order of their first appearance, without making a text of each. */
export class ByteNumbers {
  /** The number of a string at the place of its hash, or behind it. */
  #slots = new Int32Array(64).fill(FREE)
  readonly #byteSequences: Uint8Array[] = []
  readonly #hashes: number[] = []

  of(bytes: Uint8Array, from: number, to: number): number {
    const hash = hashOf(bytes, from, to)
    let slot = hash & (this.#slots.length - 1)
    for (; ; slot = (slot + 1) & (this.#slots.length - 1)) {
      const number = this.#slots[slot] as number
      if (number === FREE) break
      if (
        this.#hashes[number] === hash &&
        areEqual(this.#byteSequences[number] as Uint8Array, bytes, from, to)
      )
        return number
    }
    this.#slots[slot] = this.#byteSequences.length
    this.#byteSequences.push(Uint8Array.from(bytes.subarray(from, to)))
    this.#hashes.push(hash)
    if (this.#byteSequences.length * 2 > this.#slots.length) this.#grow()
    return this.#byteSequences.length - 1
  }

  #grow(): void {
    this.#slots = new Int32Array(this.#slots.length * 2).fill(FREE)
    for (const [number, hash] of this.#hashes.entries()) {
      let slot = hash & (this.#slots.length - 1)
      while (this.#slots[slot] !== FREE) slot = (slot + 1) & (this.#slots.length - 1)
      this.#slots[slot] = number
    }
  }
}

/** FNV-1a from a secret start, with the upper bits mixed into the lower ones. */
function hashOf(bytes: Uint8Array, from: number, to: number): number {
  let hash = SEED
  for (let at = from; at < to; at++) hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193)
  return (hash ^ (hash >>> 15)) >>> 0
}

function areEqual(knownBytes: Uint8Array, bytes: Uint8Array, from: number, to: number): boolean {
  if (knownBytes.length !== to - from) return false
  for (let at = 0; at < knownBytes.length; at++) if (knownBytes[at] !== bytes[from + at]) return false
  return true
}
