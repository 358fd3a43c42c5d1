import { createHmac, randomInt } from 'node:crypto'

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** A new id in the form of Parse's objectIds: 10 letters and digits, 59 bits of the system's randomness. */
export function newId(): string {
  let id = ''
  for (let i = 0; i < 10; i++) id += LETTERS[randomInt(LETTERS.length)]
  return id
}

/** A source of such ids that gives the same ones, in the same order, for the same secret seed. */
export function seededIds(seed: Buffer): () => string {
  let count = 0
  return () => {
    const bytes = createHmac('sha256', seed).update(String(count++)).digest().subarray(0, 10)
    return Array.from(bytes, (byte) => LETTERS[byte % LETTERS.length]).join('')
  }
}
