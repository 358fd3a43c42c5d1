/**
 * The class family compared with a bare Parse Server with the same options, classes and engine, to show the cost of our checks,
 * triggers and headers. Our objects have permissions and derived values, and so are twice as large. In the rows "same
 * objects", the bare server stores these, too. FORMER_BUILD, the folder of another build, adds that build.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { startEmbeddedMongo } from '@health-record-service/embedded-mongo'
import { compareSides, createGet, postJson, stopSide } from './frame/compare-sides.ts'
import { type ParseSide, startParseSide } from './peers/parse-side.ts'

const preloaded = 400

interface PressureSide extends ParseSide {
  ids: string[]
  /** Objects with permissions and derived values, and the id of their care plan. */
  same: { ids: string[]; carePlanId: string }
}

const bloodPressure = ({ ehrId, carePlanId }: ParseSide, i: number) => ({
  ehrId,
  carePlanId,
  timestamp: { __type: 'Date', iso: new Date(1_700_000_000_000 + i * 60_000).toISOString() },
  systolic: 100 + (i % 60),
  systolicUnit: 'mm[Hg]',
  diastolic: 60 + (i % 30),
  diastolicUnit: 'mm[Hg]',
})

async function loadPressures(side: ParseSide): Promise<PressureSide> {
  const ids: string[] = []
  for (let i = 0; i < preloaded; i++) {
    const { objectId = '' } = await postJson(side, '/1/classes/BloodPressure', bloodPressure(side, i))
    ids.push(objectId)
  }
  return { ...side, ids, same: { ids, carePlanId: side.carePlanId } }
}

const queryOf = (carePlanId: string): string =>
  `where=${encodeURIComponent(JSON.stringify({ carePlanId }))}&order=-timestamp`

/** Copies the objects that one side returns to the other one. */
async function copyObjects({ url, headers, carePlanId }: PressureSide, to: PressureSide): Promise<void> {
  const response = await fetch(`${url}/1/classes/BloodPressure?${queryOf(carePlanId)}&limit=${preloaded}`, {
    headers,
  })
  const { results } = (await response.json()) as { results: Record<string, unknown>[] }
  to.same = { ids: [], carePlanId: `${carePlanId}-copy` }
  for (const { objectId: _id, createdAt: _created, updatedAt: _updated, ...values } of results) {
    const copy = { ...values, ACL: { [to.userId]: { read: true, write: true }, ...(values.ACL as object) } }
    const { objectId = '' } = await postJson(to, '/1/classes/BloodPressure', {
      ...copy,
      carePlanId: to.same.carePlanId,
    })
    to.same.ids.push(objectId)
  }
}

const dataDir = mkdtempSync(join(tmpdir(), 'bench-'))
const engine = await startEmbeddedMongo({ dataDir, port: 0 })
const sides = [
  await loadPressures(await startParseSide('ours', '../server/main.js', engine.uri)),
  await loadPressures(await startParseSide('bare', './peers/bare-parse-server.js', engine.uri)),
]
const [ours, bare] = sides
if (ours && bare) await copyObjects(ours, bare)
const { FORMER_BUILD: former } = process.env
if (former) {
  const script = pathToFileURL(resolve(former, 'dist/server/main.js')).href
  sides.push(await loadPressures(await startParseSide('former', script, engine.uri)))
}

const getEach = (ids: string[]) => ids.map((id) => createGet(`/1/classes/BloodPressure/${id}`))
const listNewest = (carePlanId: string) => [
  createGet(`/1/classes/BloodPressure?${queryOf(carePlanId)}&limit=20`),
]

await compareSides(sides, {
  // The first row also compiles the code that all rows share.
  'GET one': { requests: ({ ids }) => getEach(ids), warmUp: 8000 },
  'GET one, same objects': { requests: ({ same }) => getEach(same.ids) },
  'list of 20': { requests: ({ carePlanId }) => listNewest(carePlanId) },
  'list of 20, same objects': { requests: ({ same }) => listNewest(same.carePlanId) },
  POST: {
    requests: (side) =>
      side.ids.map((_, i) => ({
        method: 'POST',
        path: '/1/classes/BloodPressure',
        body: JSON.stringify(bloodPressure(side, i)),
      })),
  },
  PUT: {
    requests: ({ ids }) =>
      ids.map((id, i) => ({
        method: 'PUT',
        path: `/1/classes/BloodPressure/${id}`,
        body: JSON.stringify({ comment: `corrected ${i}` }),
      })),
  },
})

for (const side of sides) await stopSide(side)
await engine.stop()
rmSync(dataDir, { recursive: true, force: true })
