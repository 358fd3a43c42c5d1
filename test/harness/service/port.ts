import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * A free port. It is below the range of outgoing connections, so that no other connection of the run takes it
 * before use. It is above 10080, because browsers and fetch refuse some lower ports ("bad port").
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_081, 32_768)
    const server = createServer().listen(port, '127.0.0.1')
    const free = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (!free) continue
    await once(server.close(), 'close')
    return port
  }
}
