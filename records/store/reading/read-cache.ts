import { LRUCache } from 'lru-cache'

interface ReadCacheOptions {
  /** The number of values. */
  max: number
  /** The age, in ms, at which a value is read again, so that changes by other instances take effect. */
  ttl: number
}

/** Values from the database. One that was read while something changed is not kept, since it may be out of date. */
export class ReadCache<T extends object> {
  readonly #values: LRUCache<string, T>
  #clearings = 0

  constructor(options: ReadCacheOptions) {
    this.#values = new LRUCache<string, T>(options)
  }

  /** The value of a key. @param read reads it from the database; what is undefined is read each time */
  async get(key: string, read: () => Promise<T | undefined>): Promise<T | undefined> {
    const cachedValue = this.#values.get(key)
    if (cachedValue) return cachedValue
    const clearings = this.#clearings
    const value = await read()
    if (value && clearings === this.#clearings) this.#values.set(key, value)
    return value
  }

  /** Forgets all values, after a change. */
  clear(): void {
    this.#clearings++
    this.#values.clear()
  }
}
