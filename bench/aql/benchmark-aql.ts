/**
 * AQL over blood pressures that were committed as compositions, ten in an EHR: what one EHR's were last, which were too high
 * in a month across all EHRs, how many there are; and commits. One client asks, 24 commit.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedMongo } from '@health-record-service/embedded-mongo'
import type { Request } from 'autocannon'
import { MongoClient } from 'mongodb'
import { setRole } from '../../records/ehrs/rights/roles.ts'
import {
  compareSides,
  createRequest,
  describeVerdict,
  type Figures,
  type Side,
  sideDatabaseUri,
  signInByPathFamily,
  stopSide,
} from '../frame/compare-sides.ts'
import { readMemory } from '../frame/process-memory.ts'
import { account, launchParseSide, signUp } from '../peers/parse-side.ts'
import { COMPOSITIONS_PER_EHR, createPressureComposition, loadCompositions } from './composition-data.ts'

const analyst = { ...account, email: 'analyst@example.org' }
const observation = 'OBSERVATION o[openEHR-EHR-OBSERVATION.blood_pressure.v2]'
const systolic = 'o/data[at0001]/events[at0006]/data[at0003]/items[at0004]/value/magnitude'
const time = 'o/data[at0001]/events[at0006]/time/value'

const LAST = `SELECT ${time} AS time, ${systolic} AS systolic FROM EHR e[ehr_id/value=$ehr] CONTAINS COMPOSITION c CONTAINS ${observation} ORDER BY time DESC LIMIT 100`
const HIGH = `SELECT e/ehr_id/value, ${systolic} FROM EHR e CONTAINS COMPOSITION c CONTAINS ${observation} WHERE ${systolic} >= 180 AND c/context/start_time/value >= '2025-03-01' AND c/context/start_time/value < '2025-04-01'`
const COUNT = `SELECT COUNT(*) FROM EHR e CONTAINS COMPOSITION c CONTAINS ${observation}`

const createQueryRequest = (q: string, query_parameters: object = {}): Request =>
  createRequest('POST', '/med/aql', { q, query_parameters })

const LAST_OF_ONE = 'last of one EHR'

/** The most milliseconds, half or nine tenths of the time; or the least in a second. */
const aims: Record<string, { p50?: number; p90?: number; rate?: number }> = {
  [LAST_OF_ONE]: { p90: 20 },
  'high in a month': { p50: 400 },
  'count of an archetype': { p50: 50 },
  commit: { rate: 400 },
}
const MAX_MEMORY_MB = 1024
const MAX_GROWTH = 1.3

const startEngine = (directory: string) => startEmbeddedMongo({ dataDir: join(directory, 'engine') })

/** Those EHRs that are asked for, of a directory that has been filled, or is now. */
async function loadOnce(directory: string, items: number): Promise<string[]> {
  const file = join(directory, 'ehrs.json')
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as string[]
  mkdirSync(directory, { recursive: true })
  const engine = await startEngine(directory)
  const uri = sideDatabaseUri(engine.uri, 'ours')
  const side = await launchParseSide('ours', '../server/main.js', engine.uri)
  const { userId } = await signUp(side, uri, account.email)
  const { userId: analystId } = await signUp(side, uri, analyst.email)
  const client = await MongoClient.connect(uri)
  await client.withSession((session) =>
    session.withTransaction(() => setRole({ client, db: client.db() }, session, analystId, 'analyst', true)),
  )
  await client.close()
  await stopSide(side)
  const ehrIds = await loadCompositions(uri, userId, items)
  await engine.stop()
  writeFileSync(file, JSON.stringify(ehrIds))
  return ehrIds
}

/** The services over one number of compositions: as the analyst, and as who committed them, asks. */
interface Size {
  items: number
  ehrIds: string[]
  engine: Awaited<ReturnType<typeof startEngine>>
  service: Side
}

const queryAs = ({ service, ...size }: Size, who: typeof account): Promise<Side & Omit<Size, 'service'>> =>
  signInByPathFamily({ ...service, ...size, name: String(size.items) }, who)

async function startSize(directory: string, items: number): Promise<Size> {
  const ehrIds = await loadOnce(directory, items)
  const engine = await startEngine(directory)
  return { items, ehrIds, engine, service: await launchParseSide('ours', '../server/main.js', engine.uri) }
}

/** The sizes in turn, so that the machine's moods meet all of them. */
async function measureSizes(sizes: readonly Size[]): Promise<Map<string, Figures[]>> {
  const analysts = await Promise.all(sizes.map((size) => queryAs(size, analyst)))
  const owners = await Promise.all(sizes.map((size) => queryAs(size, account)))
  const one = { connections: 1, warmUp: 20 }
  return new Map([
    ...(await compareSides(owners, {
      [LAST_OF_ONE]: {
        requests: ({ ehrIds }) => ehrIds.map((ehr) => createQueryRequest(LAST, { ehr })),
        connections: 1,
        warmUp: 300,
      },
    })),
    ...(await compareSides(analysts, {
      'high in a month': { requests: () => [createQueryRequest(HIGH)], ...one },
      'count of an archetype': { requests: () => [createQueryRequest(COUNT)], ...one },
    })),
    ...(await compareSides(owners, {
      commit: {
        requests: ({ ehrIds }) =>
          ehrIds.map((ehr, i) =>
            createRequest(
              'POST',
              `/med/ehr/${ehr}/composition/json`,
              createPressureComposition(i % 99, Date.now()),
            ),
          ),
      },
    })),
  ])
}

async function writeMemory({ items, engine, service }: Size): Promise<void> {
  const memory = [await readMemory(service.child.pid), await readMemory(engine.pid)]
  const sum = memory.reduce((total, { own, mapped }) => total + own + mapped, 0)
  const usage = memory.map(({ own, mapped }) => `${own.toFixed(0)} own and ${mapped.toFixed(0)} mapped`)
  process.stdout.write(
    `${items}: memory: ${usage.join(' + ')} MB, aim <= ${MAX_MEMORY_MB}: ${describeVerdict(sum <= MAX_MEMORY_MB)}\n`,
  )
}

function writeAims(table: Map<string, Figures[]>, size: number, { items }: Size): void {
  for (const [name, figures] of table)
    for (const [what, aim] of Object.entries(aims[name] ?? {})) {
      const value = figures[size]?.[what as keyof Figures] ?? Number.NaN
      const met = what === 'rate' ? value >= aim : value <= aim
      process.stdout.write(
        `${items}: ${name}: ${what} ${value.toFixed(1)}, aim ${aim}: ${describeVerdict(met)}\n`,
      )
    }
}

/**
 * @param sizes how many compositions, separated by commas; the growth is that of one EHR's queries from the last but one to the
 * last
 * @param kept where the data directories are kept; undefined: nowhere
 * @throws RangeError unless each fills whole EHRs
 */
export async function benchmarkAql(sizes: string, kept?: string): Promise<void> {
  const numbers = sizes.split(',').map(Number)
  if (!numbers.every((items) => items >= 1000 && items <= 2_000_000 && items % COMPOSITIONS_PER_EHR === 0))
    throw new RangeError(
      `--items takes multiples of ${COMPOSITIONS_PER_EHR} from 1000 to 2000000, separated by commas`,
    )
  const data = kept ?? mkdtempSync(join(tmpdir(), 'bench-'))
  // The last one first: the others are what it is compared with.
  const all: Size[] = []
  for (const items of numbers.reverse()) all.push(await startSize(join(data, `aql-${items}`), items))
  const table = await measureSizes(all)
  process.stdout.write('\n')
  for (const [i, size] of all.entries()) {
    writeAims(table, i, size)
    await writeMemory(size)
    await stopSide(size.service)
    await size.engine.stop()
  }
  if (kept === undefined) rmSync(data, { recursive: true, force: true })
  const before = table.get(LAST_OF_ONE)?.[1]
  if (!before) return
  const growth = 1 / before.ratio
  process.stdout.write(
    `growth: ${growth.toFixed(2)}, aim <= ${MAX_GROWTH}: ${describeVerdict(growth <= MAX_GROWTH)}\n`,
  )
}
