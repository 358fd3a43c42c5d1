import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startEmbeddedMongo } from '@health-record-service/embedded-mongo'
import { type Collection, MongoClient } from 'mongodb'
import { readMemory } from './frame/process-memory.ts'

const help = `Usage: npm run bench:db -- [--documents N]

Measures the embedded database engine through the driver, in a temporary directory.

  --documents N   Number of documents in the collection (default: 100000)
  --help          Print this text
`

interface Reading {
  _id: number
  patient: string
  serial: string
  at: Date
  systolic: number
  note: string
}
interface Figure {
  figure: string
  measured: string
  aim: string
  met: string
}

const figures: Figure[] = []
const start = Date.UTC(2024, 0, 1)
const minute = 60_000

function reading(n: number): Reading {
  return {
    _id: n,
    patient: `patient-${n % 1000}`,
    serial: `serial-${n}`,
    at: new Date(start + n * minute),
    systolic: 90 + (n % 90),
    note: 'Measured at home, sitting, left arm, after five minutes of rest.',
  }
}

/** Adds a figure. `least` or `most` is its aim; without either it is for information. */
function report(
  figure: string,
  value: number,
  unit: string,
  { least, most }: { least?: number; most?: number } = {},
) {
  const isMet = value >= (least ?? -Infinity) && value <= (most ?? Infinity)
  figures.push({
    figure,
    measured: `${value >= 100 ? Math.round(value) : value.toFixed(2)} ${unit}`,
    aim: least !== undefined ? `>= ${least}` : most !== undefined ? `<= ${most}` : '',
    met: least === undefined && most === undefined ? '' : isMet ? 'yes' : 'NO',
  })
}

function progress(text: string) {
  process.stderr.write(`${text} …\n`)
}

/** Runs `work` with 0, 1, 2, …, `width` at a time. @returns runs per second */
async function measureRate(
  times: number,
  width: number,
  work: (n: number) => Promise<unknown>,
): Promise<number> {
  let next = 0
  const worker = async () => {
    while (next < times) await work(next++)
  }
  const begin = performance.now()
  await Promise.all(Array.from({ length: width }, worker))
  return (times / (performance.now() - begin)) * 1000
}

/** The median of `times` runs, in ms. */
async function measureMedian(times: number, work: (n: number) => Promise<unknown>): Promise<number> {
  const durations: number[] = []
  for (let n = 0; n < times; n++) {
    const begin = performance.now()
    await work(n)
    durations.push(performance.now() - begin)
  }
  return durations.sort((a, b) => a - b)[Math.floor(times / 2)] ?? Number.NaN
}

async function writes(readings: Collection<Reading>, documents: number) {
  progress(`insertMany: ${documents} documents in batches of 1,000`)
  const batch = (n: number) =>
    readings.insertMany(Array.from({ length: 1000 }, (_, i) => reading(n * 1000 + i)))
  report('insertMany', (await measureRate(Math.ceil(documents / 1000), 1, batch)) * 1000, 'documents/s')

  const insert = (from: number) => (n: number) => readings.insertOne(reading(1e9 + from + n))
  let updates = 0
  const update = (n: number) => {
    const at = new Date(start + ++updates)
    return readings.updateOne(
      { _id: (n * 7919) % documents },
      { $set: { systolic: 90 + (updates % 90), at } },
    )
  }
  progress('insertOne')
  report('insertOne, 64 at a time', await measureRate(20_000, 64, insert(0)), '/s', { least: 5000 })
  report('insertOne, one after the other', await measureRate(1000, 1, insert(20_000)), '/s')
  progress('updateOne')
  report('updateOne, 64 at a time', await measureRate(20_000, 64, update), '/s', { least: 4000 })
  report('updateOne, one after the other', await measureRate(1000, 1, update), '/s')
}

async function reads(readings: Collection<Reading>, documents: number) {
  const any = (n: number) => (n * 7919) % documents
  const byId = (n: number) => readings.findOne({ _id: any(n) })
  const bySerial = (n: number) => readings.findOne({ serial: `serial-${any(n)}` })
  const page = (n: number) => {
    const from = new Date(start + (any(n) / 2) * minute)
    return readings
      .find({ at: { $gte: from } })
      .sort({ at: 1 })
      .limit(100)
      .toArray()
  }
  progress('findOne')
  await measureRate(500, 1, byId)
  report('findOne by _id, one after the other', await measureRate(5000, 1, byId), '/s', { least: 2500 })
  report('findOne by _id, 64 at a time', await measureRate(20_000, 64, byId), '/s')
  report('findOne by a unique index', await measureRate(5000, 1, bySerial), '/s')
  progress('ranges and counts')
  report('range + sort + limit 100 by date', await measureMedian(200, page), 'ms', { most: 3 })
  report('countDocuments({})', await measureMedian(50, () => readings.countDocuments({})), 'ms', { most: 5 })
}

/** Reports the time of other clients' point reads while a command reads all documents. */
async function readsMeanwhile(
  name: string,
  probes: Collection<{ _id: number }>,
  run: () => Promise<unknown>,
) {
  progress(name)
  let running = true
  const command = run().finally(() => {
    running = false
  })
  const took: number[] = []
  while (running) {
    const startTime = performance.now()
    await probes.findOne({ _id: 1 })
    took.push(performance.now() - startTime)
  }
  await command
  took.sort((a, b) => a - b)
  report(`point reads while ${name}, p99`, took[Math.floor(took.length * 0.99)] ?? Number.NaN, 'ms', {
    most: 50,
  })
}

async function longCommands(readings: Collection<Reading>, documents: number) {
  const probes = readings.db.collection<{ _id: number }>('probes')
  await probes.insertOne({ _id: 1 })
  const from = new Date(start + documents * 0.2 * minute)
  const to = new Date(start + documents * 0.4 * minute)
  const range = { at: { $gte: from, $lt: to } }
  report(
    'count by an indexed range, 20 %',
    await measureMedian(20, () => readings.countDocuments(range)),
    'ms',
    {
      most: 100,
    },
  )
  const gather = () =>
    readings.aggregate([{ $group: { _id: '$patient', mean: { $avg: '$systolic' } } }]).toArray()
  await readsMeanwhile('all are scanned', probes, () => readings.findOne({ note: 'none' }))
  await readsMeanwhile('all are grouped', probes, gather)
  await readsMeanwhile('all are updated', probes, () => readings.updateMany({}, { $inc: { systolic: 1 } }))
  await readsMeanwhile('all are deleted', probes, () => readings.deleteMany({ note: { $ne: '' } }))
}

async function megabytesOnDisk(directory: string): Promise<number> {
  const files = await readdir(directory, { recursive: true, withFileTypes: true })
  const sizes = await Promise.all(
    files.filter((f) => f.isFile()).map((f) => stat(join(f.parentPath, f.name))),
  )
  return sizes.reduce((sum, { blocks }) => sum + blocks * 512, 0) / 1024 / 1024
}

/** Connects to an engine for some work. */
async function withReadings<T>(uri: string, work: (readings: Collection<Reading>) => Promise<T>): Promise<T> {
  const client = new MongoClient(uri)
  try {
    return await work(client.db('bench').collection<Reading>('readings'))
  } finally {
    await client.close()
  }
}

/** Starts the engine and reports the seconds. */
async function measureStart(figure: string, dataDir: string, most: number) {
  progress(figure)
  const begin = performance.now()
  const engine = await startEmbeddedMongo({ dataDir })
  report(figure, (performance.now() - begin) / 1000, 's', { most })
  return engine
}

async function measure(dataDir: string, documents: number) {
  const first = await startEmbeddedMongo({ dataDir })
  await withReadings(first.uri, async (readings) => {
    await readings.createIndexes([
      { key: { serial: 1 }, unique: true },
      { key: { patient: 1, at: -1 } },
      { key: { at: 1 } },
    ])
    await writes(readings, documents)
    await reads(readings, documents)
    const { own, mapped } = await readMemory(first.pid)
    report('memory of its own', own, 'MB', { most: 300 })
    // No aim: the system reclaims them when it needs the memory.
    report('mapped pages of the data file', mapped, 'MB')
  })
  process.kill(first.pid, 'SIGKILL')
  await first.exited
  const second = await measureStart('start after kill -9, with its verification', dataDir, 2)
  await withReadings(second.uri, (readings) => longCommands(readings, documents))
  await second.stop()
  report('on disk', await megabytesOnDisk(dataDir), 'MB')
  const third = await measureStart('cold open, process start to ready', dataDir, 0.5)
  await third.stop()
}

const { values } = parseArgs({
  options: { documents: { type: 'string', default: '100000' }, help: { type: 'boolean' } },
})
const documents = Number(values.documents)
if (values.help || !(documents >= 1000)) {
  process.stdout.write(values.help ? help : `--documents must be a number of at least 1000\n\n${help}`)
  process.exit(values.help ? 0 : 1)
}
const dataDir = await mkdtemp(join(tmpdir(), 'bench-embedded-mongo-'))
try {
  await measure(dataDir, documents)
} finally {
  await rm(dataDir, { recursive: true, force: true })
}
const width = Math.max(...figures.map(({ figure }) => figure.length))
for (const { figure, measured, aim, met } of [
  { figure: 'figure', measured: 'measured', aim: 'aim', met: 'met' },
  ...figures,
])
  process.stdout.write(`${figure.padEnd(width)}  ${measured.padStart(18)}  ${aim.padEnd(8)}  ${met}\n`)
