import type ParseSdk from 'parse/node'
import { WebSocket } from 'ws'
import { config, service } from '../service/service.ts'
import { found, until } from '../until.ts'
import { newSdk } from './class-client.ts'

// biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever was sent
type Message = any

/** A socket without an SDK: what is sent, and what is heard. */
export async function rawSocket(url = service.url) {
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
  await until(() => socket.readyState === socket.OPEN || closed !== undefined)
  const send = (message: object) => socket.send(JSON.stringify(message))
  const answer = async (message: object): Promise<Message> => {
    const before = heard.length
    send(message)
    return found(() => heard[before], 'an answer')
  }
  return { socket, heard, send, answer, closedWith: () => closed }
}

/** The first message of an SDK. */
export const connecting = (more: object = {}) => ({
  ...{ op: 'connect', applicationId: config.applicationId, javascriptKey: config.javascriptKey },
  ...more,
})

/** What the SDK keeps to itself. */
interface Connected {
  client: { close(): unknown; reconnectHandle: NodeJS.Timeout | undefined }
}

/** Subscribes as an SDK does it, and notes what it is told. */
export async function subscribe(
  { sessionToken }: { sessionToken: string },
  className: string,
  narrow: (query: ParseSdk.Query) => ParseSdk.Query = (query) => query,
  url = service.url,
) {
  const Parse = newSdk(url)
  const subscription = await narrow(new Parse.Query(className)).subscribe(sessionToken)
  const told: [string, ParseSdk.Object, ParseSdk.Object | undefined][] = []
  for (const op of ['create', 'update', 'enter', 'leave', 'delete'])
    subscription.on(op, (object: ParseSdk.Object, original?: ParseSdk.Object) =>
      told.push([op, object, original]),
    )
  const errors: string[] = []
  subscription.on('error', (error: unknown) => errors.push(String(error)))
  const { client } = subscription as unknown as Connected
  // One that has lost its server goes on trying to reach it, closed or not.
  const close = () => {
    client.close()
    clearTimeout(client.reconnectHandle)
  }
  await subscription.subscribePromise
  let taken = 0
  const next = async () => {
    const event = await found(() => told[taken], 'an event')
    taken += 1
    return event
  }
  return { told, errors, next, close }
}
