import assert from 'node:assert/strict'
import { service } from '../service/service.ts'
import { waitFor } from '../wait.ts'

interface SentEvent {
  id: string | undefined
  name: string
  // biome-ignore lint/suspicious/noExplicitAny: tests read any content
  data: any
}

/** A client for Server-Sent Events that behaves like a browser. */
export interface EventSource {
  status: number
  type: string
  /** The events received so far. */
  events: SentEvent[]
  /** The id after which a new stream would resume. */
  lastId(): string
  /** The next event that has not been read yet. */
  next(): Promise<SentEvent>
  /** Whether the service has closed the stream. */
  hasEnded(): boolean
  /** Waits until the stream has ended, and asserts that all events were read. */
  ended(): Promise<void>
  close(): void
}

/** Opens a stream. All changes after it returns are sent. */
export async function openEventSource(
  { authToken }: { authToken: string },
  path: string,
  { after, url = service.url }: { after?: string; url?: string } = {},
): Promise<EventSource> {
  const closing = new AbortController()
  const { status, headers, body } = await fetch(url + path, {
    headers: {
      authorization: `Bearer ${authToken}`,
      accept: 'text/event-stream',
      ...(after !== undefined && { 'last-event-id': after }),
    },
    signal: closing.signal,
  })
  const events: SentEvent[] = []
  let nextIndex = 0
  let lastId = ''
  let over = false
  const take = (block: string) => {
    const lines = block.split('\n').filter((line) => !line.startsWith(':'))
    const fields = new Map(lines.map((line) => line.split(/: (.*)/s) as [string, string]))
    lastId = fields.get('id') ?? lastId
    const name = fields.get('event')
    const data = fields.get('data')
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
  if (status === 200) await waitFor(() => lastId || undefined, 'the beginning of the stream')
  return {
    status,
    type: headers.get('content-type') ?? '',
    events,
    lastId: () => lastId,
    hasEnded: () => over,
    async next() {
      const event = await waitFor(() => events[nextIndex], 'an event')
      nextIndex += 1
      return event
    },
    async ended() {
      await waitFor(() => over || undefined, 'the end of the stream')
      assert.deepEqual(events.slice(nextIndex), [])
    },
    close: () => closing.abort(),
  }
}
