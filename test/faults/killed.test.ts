import assert from 'node:assert/strict'
import { startEngine } from '@health-record-service/embedded-mongo/testing'
import { isFullSize, sized } from '../harness/size.ts'
import { Trials } from './trials/trials.ts'
import { families } from './trials/writes.ts'
import { type Victim, victims } from './victim/victim.ts'

const AUDIT_KEY = 'the-key-of-the-audit-for-tests-of-faults'

/** In full, a family has services of its own; a few writes of both share some. */
const groups = isFullSize
  ? Object.entries(families)
  : [
      [
        'both families',
        Object.values(families).flatMap((writes) => writes.filter((_, i) => i % 8 === 0)),
      ] as const,
    ]

for (const [family, writes] of groups)
  describe(`a service that is killed within a write: ${family}`, function () {
    // A machine may have more to do than this.
    this.timeout(900_000)
    let found: Awaited<ReturnType<typeof Trials.run>>

    before(async () => {
      const engine = await startEngine()
      const running: Pick<Victim, 'kill'>[] = []
      try {
        const name = 'faults'
        const uri = `${engine.uri.replace(/\/+$/, '')}/${name}?maxPoolSize=1000`
        const start = await victims(uri, AUDIT_KEY, (victim) => running.push(victim))
        const { client } = engine
        found = await Trials.run(
          { client, db: client.db(name), auditKey: AUDIT_KEY, start },
          writes,
          sized(8, 1),
        )
      } finally {
        for (const victim of running) await victim.kill()
        await engine.stop()
      }
    })

    it('is killed where it should be', () => {
      const { tried, missed } = found
      assert.deepEqual(missed, [], `of ${tried}`)
    })

    for (const write of writes)
      it(`leaves all of it or nothing, with its audit, and does it when asked again: ${write.name}`, () => {
        const course = found.courses.find((one) => one.write === write)
        assert.ok(course && course.moments.length > 2)
        assert.deepEqual(course.faults, [])
      })
  })
