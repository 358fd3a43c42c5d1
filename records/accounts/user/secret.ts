import { createHash, randomBytes } from 'node:crypto'

/** 256 random bits, safe in URLs. */
export const newSecret = (): string => randomBytes(32).toString('base64url')

/** Hashes a secret of 256 bits, or an address, that is stored only for comparison. */
export const hashSecret = (text: string): string => createHash('sha256').update(text).digest('base64url')
