import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { limitConnections } from '../../../server/http/arrival/connection-limits.ts'
import { waitUntil } from '../../harness/wait.ts'

describe('the connections of an address', () => {
  const sockets: Socket[] = []
  let server: Server

  async function startServer(isProxy: (address: string) => boolean): Promise<void> {
    server = createServer()
    limitConnections(server, isProxy, { address: 3, all: 12 })
    await once(server.listen(0), 'listening')
  }
  async function openConnections(host: string, count: number): Promise<Socket[]> {
    const { port } = server.address() as AddressInfo
    const opened = Array.from({ length: count }, () => connect(port, host))
    sockets.push(...opened)
    for (const socket of opened) socket.on('error', () => {})
    await Promise.all(opened.map((socket) => once(socket, 'connect')))
    return opened
  }
  const countOpen = () => new Promise((resolve) => server.getConnections((_, count) => resolve(count)))

  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy()
    await once(server.close(), 'close')
  })

  it('are limited, and a closed one makes room', async () => {
    await startServer(() => false)
    const [socket] = await openConnections('127.0.0.1', 2)
    await openConnections('127.0.0.1', 3)
    await waitUntil(async () => (await countOpen()) === 3)
    socket?.destroy()
    await waitUntil(async () => (await countOpen()) === 2)
    await openConnections('127.0.0.1', 1)
    assert.equal(await countOpen(), 3)
  })

  it('are those of many people behind a proxy, and limited only with all others', async () => {
    await startServer((address) => address.endsWith('127.0.0.1'))
    await openConnections('127.0.0.1', 15)
    await waitUntil(async () => (await countOpen()) === 12)
  })
})
