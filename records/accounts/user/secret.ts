import { createHash, randomBytes } from 'node:crypto'

/** 256 bits, safe in URLs. */
export const newSecret = (): string => randomBytes(32).toString('base64url')

/** How a secret of 256 bits, or an address, is kept where it is only compared. */
export const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64url')
