import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * A port that nobody listens on. It is below those that systems give to outgoing connections, so that none of the
 * many of a run takes it before it is used, and above 10080, which browsers and fetch refuse ("bad port").
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
