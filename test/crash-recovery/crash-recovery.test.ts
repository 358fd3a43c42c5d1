import assert from 'node:assert/strict'
import { withDatabase } from '@health-record-service/embedded-mongo'
import { startEngine } from '@health-record-service/embedded-mongo/testing'
import { bySize, isFullSize } from '../harness/test-size.ts'
import { type CrashService, createServiceStarter } from './service/crash-service.ts'
import { WRITES_BY_FAMILY } from './trials/clinical-writes.ts'
import { CrashTrials } from './trials/crash-trials.ts'
import { FHIR_WRITES } from './trials/fhir-writes.ts'

const AUDIT_KEY = 'the-key-of-the-audit-for-tests-of-faults'

const WRITES = { ...WRITES_BY_FAMILY, FHIR: FHIR_WRITES }

/** At full size each family has services of its own; otherwise a few writes of all families share some. */
const WRITE_GROUPS = isFullSize
  ? Object.entries(WRITES)
  : [
      [
        'all families',
        Object.values(WRITES).flatMap((writes) => writes.filter((_, i) => i % 10 === 0)),
      ] as const,
    ]

for (const [family, writes] of WRITE_GROUPS)
  describe(`a service that is killed during a write: ${family}`, function () {
    // The machine may be busy.
    this.timeout(1_800_000)
    let trials: Awaited<ReturnType<typeof CrashTrials.run>>

    before(async () => {
      const engine = await startEngine()
      const running: Pick<CrashService, 'kill'>[] = []
      try {
        const name = 'faults'
        const uri = `${withDatabase(engine.uri, name)}&maxPoolSize=1000`
        const start = await createServiceStarter(uri, AUDIT_KEY, (victim) => running.push(victim))
        const { client } = engine
        trials = await CrashTrials.run(
          { client, db: client.db(name), auditKey: AUDIT_KEY, start },
          writes,
          bySize(12, 1),
        )
      } finally {
        for (const victim of running) await victim.kill()
        await engine.stop()
      }
    })

    it('is killed at every chosen crash point', () => {
      const { tried, missedTrials } = trials
      assert.deepEqual(missedTrials, [], `of ${tried}`)
    })

    for (const write of writes)
      it(`leaves all of the write or nothing, with its audit, and completes it on retry: ${write.name}`, () => {
        const course = trials.courses.find((one) => one.write === write)
        assert.ok(course && course.moments.length > 1)
        assert.deepEqual(course.faults, [])
      })
  })
