import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { closeAtEnd } from '../harness/run.ts'
import { config } from '../harness/service/service.ts'

/** A connection to the service that can be lost. */
export interface LossyProxy {
  url: string
  /** Loses the next responses: after that many bytes, or entirely. The service carries out their requests. */
  loseResponses(count: number, afterBytes?: number): void
  /** Ends all connections. */
  cut(): void
}

export async function createLossyProxy(): Promise<LossyProxy> {
  const sockets = new Set<Socket>()
  let losses = 0
  let keptBytes = 0
  const server = createServer((client) => {
    const upstream = connect(config.port, '127.0.0.1')
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.once('close', () => {
        sockets.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    client.pipe(upstream)
    upstream.on('data', (bytes: Buffer) => {
      if (losses === 0) {
        client.write(bytes)
      } else {
        losses -= 1
        client.end(bytes.subarray(0, keptBytes), () => client.destroy())
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  closeAtEnd(async () => {
    cut()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    loseResponses(count, afterBytes = 0) {
      losses = count
      keptBytes = afterBytes
    },
    cut,
  }
}
