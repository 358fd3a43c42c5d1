import { randomInt } from 'node:crypto'

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** A new id in the form of Parse's objectIds: 10 letters and digits, 59 bits of the system's randomness. */
export function newId(): string {
  let id = ''
  for (let i = 0; i < 10; i++) id += LETTERS[randomInt(LETTERS.length)]
  return id
}
