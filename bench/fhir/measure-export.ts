import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startEmbeddedMongo, withDatabase } from '@health-record-service/embedded-mongo'
import {
  createGet,
  describeVerdict,
  median,
  ROUNDS,
  runRequests,
  type Side,
  signInByPathFamily,
  stopSide,
} from '../frame/compare-sides.ts'
import { findNewestIds, loadMeasurements } from '../measurements/measurement-data.ts'
import { account, startParseSide } from '../peers/parse-side.ts'

/** The number of blood pressures, all of one patient. */
const EXPORTED = 20_000
/** In resources a second. */
const MIN_RATE = 5_000
const READERS = { connections: 24, duration: 10 }
/** The minimal ratio of the readers' rate to that without an export. */
const MIN_READ_RATIO = 2 / 3
/** The service refuses more frequent polling. */
const POLL_INTERVAL_MS = 1_050

/** Repeats exports until the signal. @returns resources a second */
async function exportUntil({ url, headers }: Side, signal: AbortSignal): Promise<number> {
  const startTime = performance.now()
  let exported = 0
  do {
    const order = { ...headers, prefer: 'respond-async', accept: 'application/fhir+json' }
    const started = await fetch(`${url}/fhir/R4/Patient/$export?_type=Observation`, { headers: order })
    const place = new URL(started.headers.get('content-location') ?? '')
    const state = url + place.pathname
    let answer = started
    while (answer.status !== 200) {
      await sleep(POLL_INTERVAL_MS)
      answer = await fetch(state, { headers })
    }
    const { output } = (await answer.json()) as { output: { count: number }[] }
    for (const { count } of output) exported += count
    await fetch(state, { method: 'DELETE', headers })
  } while (!signal.aborted)
  return (exported / (performance.now() - startTime)) * 1000
}

/** Prints the rate of a bulk export, and the rate of simultaneous readers. */
export async function measureExport(): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'bench-'))
  const engine = await startEmbeddedMongo({ dataDir })
  const service = await startParseSide('ours', '../server/main.js', engine.uri)
  const people = { userId: service.userId }
  const patient = await loadMeasurements(withDatabase(engine.uri, 'ours'), people, EXPORTED, 1)
  const side = await signInByPathFamily(service, account)
  const read = (await findNewestIds(side, patient)).map((id) => createGet(`/fhir/R4/Observation/${id}`))
  const readRate = async () => (await runRequests(side, read, READERS)).requests.average
  await readRate()
  const rate = await exportUntil(side, AbortSignal.abort())
  const ratios: number[] = []
  for (let i = 0; i < ROUNDS; i++) {
    const alone = await readRate()
    const end = new AbortController()
    const exporting = exportUntil(side, end.signal)
    ratios.push((await readRate()) / alone)
    end.abort()
    await exporting
  }
  const ratio = median(ratios)
  process.stdout.write(
    `\nexport: ${rate.toFixed(0)} resources/s, aim >= ${MIN_RATE}: ${describeVerdict(rate >= MIN_RATE)}\n` +
      `simultaneous reads: ${ratio.toFixed(2)} of those without, aim >= ${MIN_READ_RATIO.toFixed(2)}: ${describeVerdict(ratio >= MIN_READ_RATIO)}\n`,
  )
  await stopSide(service)
  await engine.stop()
  rmSync(dataDir, { recursive: true, force: true })
}
