/** The data directory of a part of the benchmark. It is filled once, before a service of the run starts. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startEmbeddedMongo, withDatabase } from '@health-record-service/embedded-mongo'
import { stopSide } from '../frame/compare-sides.ts'
import { type ExpressSide, startExpressSide } from '../peers/express-side.ts'
import { type ParseSide, signUp, startParseSide } from '../peers/parse-side.ts'
import { loadMeasurements, type Patient } from './measurement-data.ts'

/** The patient whose measurements are read, by the name of the side's database. */
type Patients = Record<SideName, Patient>
export type SideName = keyof typeof starts

export const nurseEmail = 'nurse@example.org'

const starts = {
  ours: (uri: string): Promise<ParseSide> => startParseSide('ours', '../server/main.js', uri),
  express: (uri: string): Promise<ExpressSide> => startExpressSide(uri),
  parse: (uri: string): Promise<ParseSide> => startParseSide('parse', './peers/bare-parse-server.js', uri),
}

export const startEngine = (directory: string) =>
  startEmbeddedMongo({ dataDir: join(directory, 'engine'), port: 0 })

/** Loads blood pressures for each of these sides, unless the directory has them already. */
export async function loadOnce<N extends SideName>(
  directory: string,
  names: readonly N[],
  items: number,
  people?: number,
): Promise<Pick<Patients, N>> {
  const file = join(directory, 'patients.json')
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as Pick<Patients, N>
  mkdirSync(directory, { recursive: true })
  const engine = await startEngine(directory)
  const patients: Partial<Patients> = {}
  for (const name of names) {
    const uri = withDatabase(engine.uri, name)
    const side = await starts[name](engine.uri)
    const nurse = name === 'ours' ? await signUp(side, uri, nurseEmail) : undefined
    patients[name] = await loadMeasurements(
      uri,
      { userId: side.userId, nurseId: nurse?.userId },
      items,
      people,
    )
    await stopSide(side)
  }
  await engine.stop()
  writeFileSync(file, JSON.stringify(patients))
  return patients as Pick<Patients, N>
}
