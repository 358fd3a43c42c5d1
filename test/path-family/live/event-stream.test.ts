import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { EventStreamWriter } from '../../../path-api/reply/event-stream.ts'

describe('a stream of events', () => {
  const data = { text: 'x'.repeat(100_000) }

  it('continues as fast as a slow client reads', async () => {
    const events = new EventStreamWriter()
    let received = 0
    const client = new Writable({
      write(part, _encoding, callback) {
        received += part.length
        setImmediate(callback)
      },
    })
    events.pipe(client)
    for (let i = 0; i < 20; i++) {
      events.sendEvent('change', data)
      await events.waitForDrain()
      assert.ok(events.listenerCount('close') < 5 && events.listenerCount('error') < 5)
    }
    assert.ok(received > 1_800_000, String(received))
  })

  it('stops waiting for a client that is gone', async () => {
    const events = new EventStreamWriter()
    events.sendEvent('change', data)
    const waiting = events.waitForDrain()
    events.destroy()
    await waiting
    assert.ok(events.destroyed)
  })

  it('ignores events after its end', async () => {
    const events = new EventStreamWriter()
    events.finish()
    events.sendEvent('change', data)
    const text = (await events.toArray()).join('')
    assert.equal(text, 'retry: 2000\n\n')
  })
})
