import { createRefusal } from './fair-queue.ts'

const MEGABYTE = 1024 * 1024

/**
 * The most bytes of bodies and of unread responses: of one account, which may have several of the largest under way,
 * and of all together. Tests lower them.
 */
export const MAX_MESSAGE_BYTES = { account: 128 * MEGABYTE, all: 512 * MEGABYTE }

/** A message that its client sends or reads. */
interface HeldMessage {
  bytes: number
  /** Ends its connection. Undefined while the service works on it. */
  disconnect?: () => void
}

/** The messages of an account; the oldest is the first. */
interface HeldMessages {
  bytes: number
  messages: Set<HeldMessage>
}

/** A body that a client sends. */
interface ArrivingBody {
  /** Call it when the body has arrived. From then on its client does not delay it. */
  complete(bytes: number): void
  /** Call it when nobody needs the body any more; further calls have no effect. */
  release(): void
}

/**
 * Bounds the memory of bodies and of responses that clients do not read, so that slow clients cannot exhaust it.
 * @see docs/decisions/admission-control.md
 */
export class MessageMemory {
  readonly #accounts = new Map<string, HeldMessages>()
  #bytes = 0

  /**
   * Counts a body before it arrives.
   * @param bytes its length, or the most it may have
   * @throws TooManyRequests when the account has too much under way; Unavailable when all together have
   */
  receive(account: string, bytes: number, disconnect: () => void): ArrivingBody {
    const body = { bytes, disconnect } as HeldMessage
    const release = () => this.#remove(account, body)
    const held = this.#add(account, body)
    const isOwn = held.bytes > MAX_MESSAGE_BYTES.account
    if (isOwn || !this.#makeRoom()) {
      release()
      throw createRefusal(isOwn, 0)
    }
    return {
      complete: (length) => {
        delete body.disconnect
        if (!held.messages.has(body)) return
        this.#count(held, length - body.bytes)
        body.bytes = length
      },
      release,
    }
  }

  /**
   * Counts a response until its client has read it. If that is too much, the connection of an older one ends.
   * @returns a function for the end of the response; further calls have no effect
   */
  send(account: string, bytes: number, disconnect: () => void): () => void {
    const response = { bytes, disconnect }
    const held = this.#add(account, response)
    while (held.bytes > MAX_MESSAGE_BYTES.account && this.#endOldest(account, held));
    this.#makeRoom()
    return () => this.#remove(account, response)
  }

  /** Ends connections of the accounts that hold the most. @returns whether all messages have room then */
  #makeRoom(): boolean {
    while (this.#bytes > MAX_MESSAGE_BYTES.all) {
      const byBytes = [...this.#accounts].sort(([, one], [, other]) => other.bytes - one.bytes)
      if (!byBytes.some(([account, held]) => this.#endOldest(account, held))) return false
    }
    return true
  }

  #endOldest(account: string, { messages }: HeldMessages): boolean {
    for (const message of messages) {
      if (!message.disconnect) continue
      this.#remove(account, message)
      message.disconnect()
      return true
    }
    return false
  }

  #add(account: string, message: HeldMessage): HeldMessages {
    const held = this.#accounts.get(account) ?? { bytes: 0, messages: new Set() }
    this.#accounts.set(account, held)
    held.messages.add(message)
    this.#count(held, message.bytes)
    return held
  }

  #remove(account: string, message: HeldMessage): void {
    const held = this.#accounts.get(account)
    if (!held?.messages.delete(message)) return
    this.#count(held, -message.bytes)
    if (held.messages.size === 0) this.#accounts.delete(account)
  }

  #count(held: HeldMessages, bytes: number): void {
    held.bytes += bytes
    this.#bytes += bytes
  }
}
