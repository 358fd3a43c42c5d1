/**
 * The class family against a bare Parse Server with the same options, classes and engine: what our checks, triggers
 * and headers cost. With FORMER_BUILD, the folder of another build, also against that one.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { startEmbeddedMongo } from '@health-record-service/embedded-mongo'
import { compareSides, postJson, stopSide } from './frame/compare-sides.ts'
import { type ParseSide, startParseSide } from './peers/parse-side.ts'

const preloaded = 400

interface PressureSide extends ParseSide {
  ids: string[]
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

async function prepared(side: ParseSide): Promise<PressureSide> {
  const ids: string[] = []
  for (let i = 0; i < preloaded; i++) {
    const { objectId = '' } = await postJson(side, '/1/classes/BloodPressure', bloodPressure(side, i))
    ids.push(objectId)
  }
  return { ...side, ids }
}

const dataDir = mkdtempSync(join(tmpdir(), 'bench-'))
const engine = await startEmbeddedMongo({ dataDir })
const sides = [
  await prepared(await startParseSide('ours', '../server/main.js', engine.uri)),
  await prepared(await startParseSide('bare', './peers/bare-parse-server.js', engine.uri)),
]
const { FORMER_BUILD: former } = process.env
if (former) {
  const script = pathToFileURL(resolve(former, 'dist/server/main.js')).href
  sides.push(await prepared(await startParseSide('former', script, engine.uri)))
}

/** The four requests, each over many objects. */
await compareSides(sides, {
  'GET one': {
    requests: ({ ids }) => ids.map((id) => ({ method: 'GET', path: `/1/classes/BloodPressure/${id}` })),
  },
  'list of 20': {
    requests: ({ carePlanId }) => {
      const where = encodeURIComponent(JSON.stringify({ carePlanId }))
      return [{ method: 'GET', path: `/1/classes/BloodPressure?where=${where}&order=-timestamp&limit=20` }]
    },
  },
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
