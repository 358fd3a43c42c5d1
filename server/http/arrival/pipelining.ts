import type { RequestListener } from 'node:http'
import type { Socket } from 'node:net'

/** Unanswered requests of a connection. Node starts all that it reads at once, which may be thousands. */
const MAX_UNANSWERED_REQUESTS = 50

/**
 * Answers the first requests of a connection that sends too many before it reads their responses, and then closes it. HTTP lets
 * a server do so (RFC 9112, 9.3.2): the client repeats the others.
 */
export function limitPipelining(listener: RequestListener): RequestListener {
  const unanswered = new WeakMap<Socket, number>()
  const overflowing = new WeakSet<Socket>()
  return (request, response) => {
    const { socket } = request
    const count = unanswered.get(socket) ?? 0
    if (count >= MAX_UNANSWERED_REQUESTS) overflowing.add(socket)
    if (overflowing.has(socket)) {
      socket.pause()
      return
    }
    unanswered.set(socket, count + 1)
    response.once('close', () => {
      const left = (unanswered.get(socket) ?? 1) - 1
      unanswered.set(socket, left)
      if (left === 0 && overflowing.has(socket)) socket.destroySoon()
    })
    listener(request, response)
  }
}
