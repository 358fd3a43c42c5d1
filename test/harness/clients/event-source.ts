import assert from 'node:assert/strict'
import { service } from '../service/service.ts'
import { found } from '../until.ts'

interface Sent {
  id: string | undefined
  name: string
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever was sent
  data: any
}

/** A stream of Server-Sent Events as a browser takes it. */
export interface EventSource {
  status: number
  type: string
  /** The events so far. */
  events: Sent[]
  /** The id behind which it would go on. */
  lastId(): string
  /** The next event that was not taken yet. */
  next(): Promise<Sent>
  /** Whether the service has ended it. */
  hasEnded(): boolean
  /** Waits until it has ended, and asserts that nothing was sent that was not taken. */
  ended(): Promise<void>
  close(): void
}

/** Opens a stream; when it returns, everything that happens from now on is sent. */
export async function eventSource(
  { authToken }: { authToken: string },
  path: string,
  { after, url = service.url }: { after?: string; url?: string } = {},
): Promise<EventSource> {
  const closing = new AbortController()
  const { status, headers, body } = await fetch(url + path, {
    headers: {
      ...{ authorization: `Bearer ${authToken}`, accept: 'text/event-stream' },
      ...(after !== undefined && { 'last-event-id': after }),
    },
    signal: closing.signal,
  })
  const events: Sent[] = []
  let taken = 0
  let lastId = ''
  let over = false
  const take = (block: string) => {
    const lines = block.split('\n').filter((line) => !line.startsWith(':'))
    const fields = new Map(lines.map((line) => line.split(/: (.*)/s) as [string, string]))
    lastId = fields.get('id') ?? lastId
    const [name, data] = [fields.get('event'), fields.get('data')]
    if (name && data) events.push({ id: fields.get('id'), name, data: JSON.parse(data) })
  }
  const read = async () => {
    let text = ''
    for await (const chunk of body ?? []) {
      text += Buffer.from(chunk).toString()
      const blocks = text.split('\n\n')
      text = blocks.pop() ?? ''
      for (const block of blocks) take(block)
    }
  }
  read()
    .catch(() => {})
    .finally(() => {
      over = true
    })
  if (status === 200) await found(() => lastId || undefined, 'the beginning of the stream')
  return {
    ...{ status, type: headers.get('content-type') ?? '', events, lastId: () => lastId },
    hasEnded: () => over,
    async next() {
      const event = await found(() => events[taken], 'an event')
      taken += 1
      return event
    },
    async ended() {
      await found(() => over || undefined, 'the end of the stream')
      assert.deepEqual(events.slice(taken), [])
    },
    close: () => closing.abort(),
  }
}
