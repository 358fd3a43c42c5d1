import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

export interface KeyEncryption {
  encrypt(plain: string): string
  /** @returns undefined if another key encrypted the text, or it was modified */
  decrypt(ciphertext: string): string | undefined
}

/** Creates AES-256-GCM encryption with a key derived from a configured secret for one purpose. */
export function createKeyEncryption(secret: string, purpose: string): KeyEncryption {
  const key = Buffer.from(hkdfSync('sha256', secret, '', purpose, 32))
  return {
    encrypt(plain) {
      const iv = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', key, iv)
      const text = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
      return Buffer.concat([iv, cipher.getAuthTag(), text]).toString('base64url')
    },
    decrypt(ciphertext) {
      const bytes = Buffer.from(ciphertext, 'base64url')
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12))
        decipher.setAuthTag(bytes.subarray(12, 28))
        return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString('utf8')
      } catch {
        return undefined
      }
    },
  }
}
