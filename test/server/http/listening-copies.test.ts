import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { addListeningCopies } from '../../../server/http/listening-copies.ts'

const CLIENTS = 64

/** Opens connections while this process does nothing else, so that all of them wait. */
const openConnections = (port: number): void => {
  const script = `
    let open = 0
    for (let i = 0; i < ${CLIENTS}; i++)
      require('node:net').connect(${port}, '127.0.0.1', () => ++open === ${CLIENTS} && process.exit())`
  assert.equal(spawnSync(process.execPath, ['-e', script]).status, 0)
}

const close = (server: Server) => new Promise((resolve) => server.close(resolve))

describe('copies of a listening socket', () => {
  let server: Server
  let accepted = 0
  beforeEach(async () => {
    accepted = 0
    server = createServer((socket) => {
      accepted += 1
      socket.on('error', () => {}).end()
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
  })

  it('accept many connections in each turn of the event loop, and lose none', async () => {
    const copies = await addListeningCopies(server)
    openConnections((server.address() as AddressInfo).port)
    let turns = 0
    for (; accepted < CLIENTS; turns++) await nextTurn()
    assert.ok(turns <= CLIENTS / 4, `${turns} turns`)
    await Promise.all([server, ...copies].map(close))
    assert.equal(accepted, CLIENTS)
  })

  it('accept nothing after they are closed', async () => {
    const { port } = server.address() as AddressInfo
    const copies = await addListeningCopies(server)
    assert.ok(copies.length > 0)
    await Promise.all([server, ...copies].map(close))
    const connection = spawnSync(process.execPath, [
      '-e',
      `require('node:net').connect(${port}, '127.0.0.1')`,
    ])
    assert.match(String(connection.stderr), /ECONNREFUSED/)
  })
})
