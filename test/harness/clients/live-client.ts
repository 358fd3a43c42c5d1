import type ParseSdk from 'parse/node'
import { WebSocket } from 'ws'
import { config, service } from '../service/service.ts'
import { waitFor, waitUntil } from '../wait.ts'
import { loadSdk } from './class-client.ts'

// biome-ignore lint/suspicious/noExplicitAny: tests read any content
type Message = any

/** A WebSocket without an SDK, with its sent and received messages. */
export async function openRawSocket(url = service.url) {
  const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/1`)
  const heard: Message[] = []
  let closed: number | undefined
  socket.on('message', (data) => heard.push(JSON.parse(String(data))))
  socket.on('close', (code) => {
    closed = code
  })
  socket.on('error', () => {
    closed ??= 0
  })
  await waitUntil(() => socket.readyState === socket.OPEN || closed !== undefined)
  const send = (message: object | string) =>
    socket.send(typeof message === 'string' ? message : JSON.stringify(message))
  const answer = async (message: object | string): Promise<Message> => {
    const before = heard.length
    send(message)
    return waitFor(() => heard[before], 'an answer')
  }
  return { socket, heard, send, answer, closedWith: () => closed }
}

/** The first message of an SDK. */
export const createConnectMessage = (more: object = {}) => ({
  op: 'connect',
  applicationId: config.applicationId,
  javascriptKey: config.javascriptKey,
  ...more,
})

/** The SDK's internal state. */
interface Connected {
  client: { close(): unknown; reconnectHandle: NodeJS.Timeout | undefined }
}

/** Subscribes with an SDK and records its events. */
export async function subscribeBySdk(
  { sessionToken }: { sessionToken: string },
  className: string,
  narrow: (query: ParseSdk.Query) => ParseSdk.Query = (query) => query,
  url = service.url,
) {
  const Parse = loadSdk(url)
  const subscription = await narrow(new Parse.Query(className)).subscribe(sessionToken)
  const received: [string, ParseSdk.Object, ParseSdk.Object | undefined][] = []
  for (const op of ['create', 'update', 'enter', 'leave', 'delete'])
    subscription.on(op, (object: ParseSdk.Object, original?: ParseSdk.Object) =>
      received.push([op, object, original]),
    )
  const errors: string[] = []
  subscription.on('error', (error: unknown) => errors.push(String(error)))
  const { client } = subscription as unknown as Connected
  // An SDK that has lost its server keeps reconnecting, even when closed.
  const close = () => {
    client.close()
    clearTimeout(client.reconnectHandle)
  }
  await subscription.subscribePromise
  let nextIndex = 0
  const next = async () => {
    const event = await waitFor(() => received[nextIndex], 'an event')
    nextIndex += 1
    return event
  }
  return { received, errors, next, close }
}
