/** A set of record ids: one bit for each record, since ids are consecutive numbers. */

/** The size of a record id. */
export const ID_BYTES = 6

const CHUNK_BITS = 12
const CHUNK_WORDS = 2 ** (CHUNK_BITS - 5)

export class IdSet {
  size = 0
  readonly #chunks = new Map<number, Uint32Array>()

  /**
   * @param bytes contain an id that ends before `end`
   * @returns whether the id is new to the set
   */
  add(bytes: Uint8Array, end = bytes.length): boolean {
    let id = 0
    for (let at = end - ID_BYTES; at < end; at++) id = id * 256 + (bytes[at] as number)
    const chunk = this.#chunkOf(Math.floor(id / 2 ** CHUNK_BITS))
    const word = (id >>> 5) & (CHUNK_WORDS - 1)
    const bit = 1 << (id & 31)
    if ((chunk[word] as number) & bit) return false
    chunk[word] = (chunk[word] as number) | bit
    this.size++
    return true
  }

  #chunkOf(number: number): Uint32Array {
    const existingChunk = this.#chunks.get(number)
    if (existingChunk) return existingChunk
    const chunk = new Uint32Array(CHUNK_WORDS)
    this.#chunks.set(number, chunk)
    return chunk
  }
}
