const KEY_BYTES = 16

/** A key under which the service carries out a POST once. Pages without https have no crypto.randomUUID. */
export const createIdempotencyKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(KEY_BYTES)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('')
