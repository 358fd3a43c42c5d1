/** The time from the command to the first response, of our service and of a bare Parse Server, on one engine. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedMongo } from '@health-record-service/embedded-mongo'
import { median, ROUNDS, stopSide } from './frame/compare-sides.ts'
import { launchParseSide } from './peers/parse-side.ts'

const scripts = { ours: '../server/main.js', bare: './peers/bare-parse-server.js' }

const dataDir = mkdtempSync(join(tmpdir(), 'bench-'))
const engine = await startEmbeddedMongo({ dataDir, port: 0 })
const seconds = new Map<string, number[]>(Object.keys(scripts).map((name) => [name, []]))
// The first start of each creates its collections and indexes.
for (let round = -1; round < ROUNDS; round++) {
  for (const [name, script] of Object.entries(scripts)) {
    const startTime = performance.now()
    const side = await launchParseSide(name, script, engine.uri)
    const took = (performance.now() - startTime) / 1000
    if (round >= 0) seconds.get(name)?.push(took)
    await stopSide(side)
  }
}
await engine.stop()
rmSync(dataDir, { recursive: true, force: true })

const [ours = 0, bare = 0] = [...seconds.values()].map(median)
process.stdout.write(
  `seconds to the first answer, median of ${ROUNDS}: ours ${ours.toFixed(2)}, bare ${bare.toFixed(2)}; ` +
    `ratio ${(ours / bare).toFixed(2)}\n`,
)
