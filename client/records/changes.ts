import { withDeadline } from '../request/deadline.ts'
import { createNetworkProblem, isProblem, type Problem } from '../request/problem.ts'
import { sleep } from '../request/retry.ts'

/** After `reset` some changes are unknown: read what is on the screen again. */
export type ChangeEvent<Change> =
  | { event: 'change'; lastEventId: string; change: Change }
  | { event: 'reset'; lastEventId: string }

export interface FollowOptions {
  /** The `lastEventId` after which to resume. */
  after?: string | undefined
  signal?: AbortSignal | undefined
  /** Called when the stream has begun: later changes all come, and what was read before may be old. */
  onStart?: (() => void) | undefined
  /** Called when the stream has been interrupted, before the wait for the next attempt. */
  onInterruption?: ((problem: Problem, waitMs: number) => void) | undefined
}

/** The service sends something each 45 s. */
const STREAM_SILENCE_MS = 100_000
const MAX_RECONNECT_WAIT_MS = 30_000

interface StreamBlock {
  id: string | undefined
  event: string
  data: string
}

/** Splits Server-Sent Events. The rest of a stream that is cut off is dropped. */
class BlockParser {
  #rest = ''

  push(text: string): StreamBlock[] {
    const blocks = (this.#rest + text).split('\n\n')
    this.#rest = blocks.pop() ?? ''
    return blocks.map((block) => {
      const fields = block.split('\n').map((line) => /^(\w*): ?(.*)$/.exec(line))
      const valuesOf = (name: string) =>
        fields.flatMap((field) => (field?.[1] === name ? (field[2] ?? '') : []))
      return {
        id: valuesOf('id').at(-1),
        event: valuesOf('event').at(-1) ?? '',
        data: valuesOf('data').join('\n'),
      }
    })
  }
}

/** @throws Problem when the stream fails or falls silent, or the reason of the signal */
async function* readChunks({ body }: Response, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const reader = (body as ReadableStream<Uint8Array>).getReader()
  const close = () => void reader.cancel().catch(() => {})
  signal.addEventListener('abort', close)
  try {
    for (;;) {
      const { done, value } = await withDeadline(signal, STREAM_SILENCE_MS, () => reader.read())
      if (done) return
      yield value
    }
  } catch (cause) {
    throw signal.aborted || isProblem(cause) ? cause : createNetworkProblem(cause)
  } finally {
    signal.removeEventListener('abort', close)
    close()
  }
}

async function* readEvents<Change>(
  response: Response,
  position: { lastEventId: string | undefined },
  onStart: (() => void) | undefined,
  signal: AbortSignal,
): AsyncGenerator<ChangeEvent<Change>> {
  const parser = new BlockParser()
  const decoder = new TextDecoder()
  for await (const chunk of readChunks(response, signal))
    for (const { id, event, data } of parser.push(decoder.decode(chunk, { stream: true }))) {
      if (signal.aborted) return
      if (id !== undefined && position.lastEventId === undefined) onStart?.()
      position.lastEventId = id ?? position.lastEventId
      const lastEventId = position.lastEventId ?? ''
      if (event === 'change') yield { event, lastEventId, change: JSON.parse(data) }
      if (event === 'reset') yield { event, lastEventId }
    }
}

/** Whether the same request may succeed later. */
const isPassing = ({ status, code }: Problem): boolean =>
  code === 'network-error' || code === 'timeout' || status === 408 || status === 429 || status >= 500

const waitMsOf = ({ retryAfter = 0 }: Problem, attempt: number): number =>
  Math.max(
    retryAfter * 1000,
    Math.min(1000 * 2 ** attempt, MAX_RECONNECT_WAIT_MS) * (0.5 + Math.random() / 2),
  )

/**
 * The changes from now on, or after an event. Resumes after the last event when the stream is interrupted, for as long as
 * the caller reads it and may see it.
 * @param open opens the stream after an event
 */
export async function* followChanges<Change>(
  open: (lastEventId: string | undefined, signal: AbortSignal) => Promise<Response>,
  { after, signal = new AbortController().signal, onStart, onInterruption }: FollowOptions,
): AsyncGenerator<ChangeEvent<Change>, void> {
  const position = { lastEventId: after }
  for (let attempt = 0; !signal.aborted; attempt++) {
    let problem = createNetworkProblem(new Error('it ended the stream'))
    try {
      const response = await open(position.lastEventId, signal)
      for await (const event of readEvents<Change>(response, position, onStart, signal)) {
        attempt = 0
        yield event
      }
      if (signal.aborted) return
    } catch (error) {
      if (signal.aborted) return
      if (!isProblem(error) || !isPassing(error)) throw error
      problem = error
    }
    const waitMs = waitMsOf(problem, attempt)
    onInterruption?.(problem, waitMs)
    await sleep(waitMs, signal).catch(() => {})
  }
}
