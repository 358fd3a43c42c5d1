/**
 * The FHIR API compared with the path family of the same service: reads, searches and writes of blood pressures, at several
 * sizes. The search by category covers all vital signs, as clients use it. The search by code and the list of the path
 * family cover one kind. Then a bulk export while others read.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedMongo, withDatabase } from '@health-record-service/embedded-mongo'
import type { Request } from 'autocannon'
import {
  compareSides,
  createGet,
  createRequest,
  describeVerdict,
  type Figures,
  measureGrowth,
  parseSizes,
  type Side,
  signInByPathFamily,
  stopSide,
} from '../frame/compare-sides.ts'
import { findNewestIds, loadMeasurements, type Patient } from '../measurements/measurement-data.ts'
import { account, startParseSide } from '../peers/parse-side.ts'
import { measureExport } from './measure-export.ts'

/** One of the two APIs with its requests. */
interface ApiSide extends Side {
  read: Request[]
  byCode: Request
  byCategory: Request
  batch(): object
  batchPath: string
}

/** The minimal ratio of FHIR's rate to that of the path family. */
const AIMS: Record<string, number> = {
  read: 0.8,
  'search by code': 0.7,
  'search by category': 0.7,
  'batch of 100': 0.7,
}
const MAX_GROWTH = 1.3
const BATCH_SIZE = 100
const START_TIME_MS = Date.UTC(2001, 0, 1)

let stored = 0
/** A new time for each measurement, since a repeated one would not be stored again. */
const nextTime = () => new Date(START_TIME_MS + 60_000 * stored++).toISOString()

const since = '2025-01-01'

function createPathSide(side: Side, { ehrId, carePlanId }: Patient, ids: readonly string[]): ApiSide {
  const path = `/ehr/${ehrId}/procedure/bloodpressure`
  const list = createGet(`${path}?limit=20&from=${since}T00:00:00Z`)
  const item = () => ({
    kind: 'bloodpressure',
    carePlanId,
    timestamp: nextTime(),
    systolic: 128,
    systolicUnit: 'mm[Hg]',
    diastolic: 82,
    diastolicUnit: 'mm[Hg]',
  })
  return {
    ...side,
    name: 'path family',
    read: ids.map((id) => createGet(`${path}/${id}`)),
    byCode: list,
    byCategory: list,
    batch: () => ({ items: Array.from({ length: BATCH_SIZE }, item) }),
    batchPath: `/ehr/${ehrId}/procedure/batch`,
  }
}

const pressureOf = (value: number) => ({
  value,
  unit: 'mm[Hg]',
  system: 'http://unitsofmeasure.org',
  code: 'mm[Hg]',
})
const loinc = (code: string) => ({ coding: [{ system: 'http://loinc.org', code }] })

function createFhirSide(side: Side, { ehrId, carePlanId }: Patient, ids: readonly string[]): ApiSide {
  const path = '/fhir/R4/Observation'
  const search = `${path}?patient=${ehrId}&date=ge${since}&_count=20`
  const entry = () => ({
    resource: {
      resourceType: 'Observation',
      status: 'final',
      code: loinc('85354-9'),
      subject: { reference: `Patient/${ehrId}` },
      basedOn: [{ reference: `CarePlan/${carePlanId}` }],
      effectiveDateTime: nextTime(),
      component: [
        { code: loinc('8480-6'), valueQuantity: pressureOf(128) },
        { code: loinc('8462-4'), valueQuantity: pressureOf(82) },
      ],
    },
    request: { method: 'POST', url: 'Observation' },
  })
  return {
    ...side,
    name: 'FHIR',
    read: ids.map((id) => createGet(`${path}/${id}`)),
    byCode: createGet(`${search}&code=http://loinc.org|85354-9`),
    byCategory: createGet(`${search}&category=vital-signs`),
    batch: () => ({
      resourceType: 'Bundle',
      type: 'transaction',
      entry: Array.from({ length: BATCH_SIZE }, entry),
    }),
    batchPath: '/fhir/R4',
  }
}

async function measureItems(items: number): Promise<Map<string, Figures[]>> {
  const dataDir = mkdtempSync(join(tmpdir(), 'bench-'))
  const engine = await startEmbeddedMongo({ dataDir })
  const service = await startParseSide('ours', '../server/main.js', engine.uri)
  const { userId } = service
  const patient = await loadMeasurements(withDatabase(engine.uri, 'ours'), { userId }, items)
  const side = await signInByPathFamily(service, account)
  const ids = await findNewestIds(side, patient)
  process.stdout.write(`\n${items} items: `)
  const figures = await compareSides(
    [createFhirSide(side, patient, ids), createPathSide(side, patient, ids)],
    {
      read: { requests: ({ read }) => read },
      'search by code': { requests: ({ byCode }) => [byCode] },
      'search by category': { requests: ({ byCategory }) => [byCategory] },
      'batch of 100': {
        requests: ({ batch, batchPath }) => {
          const setupRequest = (request: Request) => ({ ...request, body: JSON.stringify(batch()) })
          return [{ ...createRequest('POST', batchPath, {}), setupRequest }]
        },
        connections: 4,
        warmUp: 8,
        each: 20,
      },
    },
  )
  await stopSide(service)
  await engine.stop()
  rmSync(dataDir, { recursive: true, force: true })
  return figures
}

const writeLine = (name: string, text: string) => process.stdout.write(`${name.padEnd(20)}${text}\n`)

function writeAims(figures: Map<string, Figures[]>): void {
  process.stdout.write('\n')
  for (const [name, [, path]] of figures) {
    const ratio = path?.ratio ?? 0
    const aim = AIMS[name] ?? 0
    writeLine(name, `${ratio.toFixed(2)} of the path family, aim >= ${aim}: ${describeVerdict(ratio >= aim)}`)
  }
}

function writeGrowth(least: Map<string, Figures[]>, most: Map<string, Figures[]>): void {
  process.stdout.write(`\ngrowth of FHIR, aim <= ${MAX_GROWTH}; then of the path family\n`)
  for (const [name, before] of least) {
    const [fhir = 0, path = 0] = before.map(({ rate }, i) => rate / (most.get(name)?.[i]?.rate ?? 0))
    writeLine(name, `${fhir.toFixed(2)}: ${describeVerdict(fhir <= MAX_GROWTH)}; ${path.toFixed(2)}`)
  }
}

/**
 * @param sizes numbers of blood pressures, separated by commas; the growth is from the first to the last
 * @throws RangeError unless each is a multiple of the number of people
 */
export async function benchmarkFhir(sizes: string): Promise<void> {
  await measureGrowth(parseSizes(sizes, 1000), measureItems, writeAims, writeGrowth)
  await measureExport()
}
