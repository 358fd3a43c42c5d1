import { withDatabase } from '@health-record-service/embedded-mongo'
/** The people of the benchmark: ordinary ones with some weights, and one with much data. */
import { type Db, MongoClient } from 'mongodb'
import { setRole } from '../../records/ehrs/rights/roles.ts'
import { loadCompositions } from '../aql/composition-data.ts'
import { postJson, type Side, signInByPathFamily } from '../frame/compare-sides.ts'
import { loadMeasurements } from '../measurements/measurement-data.ts'
import { account, signUp } from '../peers/parse-side.ts'
import type { Call } from './load.ts'

const WEIGHTS = 40
const HEAVY_PRESSURES = 5_000
const HEAVY_COMPOSITIONS = 5_000

/** A person with an EHR and a care plan, logged in to both families. */
export interface BenchPerson {
  userId: string
  ehrId: string
  carePlanId: string
  classHeaders: Record<string, string>
  pathHeaders: Record<string, string>
  weightIds: string[]
}

const weight = (i: number) => ({
  weight: 60 + (i % 40),
  weightUnit: 'kg',
  timestamp: new Date(Date.UTC(2025, 0, 1) + i * 60_000).toISOString(),
})

async function createPerson(side: Side, uri: string, email: string): Promise<BenchPerson> {
  const user = await signUp(side, uri, email)
  const byPath = await signInByPathFamily(side, { ...account, email })
  const { objectId: ehrId = '' } = await postJson(user, '/1/classes/Ehr', { subjectId: user.userId })
  const { objectId: carePlanId = '' } = await postJson(user, '/1/classes/CarePlan', { ehrId, name: 'bench' })
  const ids = { userId: user.userId, ehrId, carePlanId }
  return { ...ids, classHeaders: user.headers, pathHeaders: byPath.headers, weightIds: [] }
}

export async function createOrdinaryPerson(side: Side, uri: string, i: number): Promise<BenchPerson> {
  const person = await createPerson(side, uri, `person-${i}@example.org`)
  const { ehrId, carePlanId, pathHeaders } = person
  const byPath = { ...side, headers: pathHeaders }
  for (let n = 0; n < WEIGHTS; n++) {
    const { id = '' } = await postJson(byPath, `/ehr/${ehrId}/procedure/bodyweight`, {
      carePlanId,
      ...weight(n),
    })
    person.weightIds.push(id)
  }
  return person
}

/** Creates a person with thousands of blood pressures and compositions, who may query every EHR. */
export async function createHeavyPerson(side: Side, engineUri: string): Promise<BenchPerson> {
  const uri = withDatabase(engineUri, side.name)
  const person = await createPerson(side, uri, 'heavy@example.org')
  const loaded = await loadMeasurements(uri, { userId: person.userId }, HEAVY_PRESSURES, 1)
  await loadCompositions(uri, person.userId, HEAVY_COMPOSITIONS)
  const client = await MongoClient.connect(uri)
  await makeAnalyst(client, client.db(), person.userId)
  await client.close()
  return { ...person, ...loaded }
}

const makeAnalyst = (client: MongoClient, db: Db, userId: string) =>
  client.withSession((session) =>
    session.withTransaction(() => setRole({ client, db }, session, userId, 'analyst', true)),
  )

let weightIndex = 1_000

/** The most frequent requests: reads one measurement, lists the newest ones, or adds one, in both families. */
export function ordinaryCall(
  { ehrId, carePlanId, weightIds, classHeaders, pathHeaders }: BenchPerson,
  nth: number,
): Call {
  const id = weightIds[nth % weightIds.length] ?? ''
  const weights = `/ehr/${ehrId}/procedure/bodyweight`
  switch (nth % 8) {
    case 0:
    case 3:
      return { method: 'GET', path: `${weights}/${id}`, headers: pathHeaders }
    case 1:
    case 4:
      return { method: 'GET', path: `/1/classes/BodyWeight/${id}`, headers: classHeaders }
    case 2:
      return { method: 'GET', path: `${weights}?limit=20`, headers: pathHeaders }
    case 5: {
      const where = encodeURIComponent(JSON.stringify({ carePlanId }))
      const path = `/1/classes/BodyWeight?where=${where}&order=-timestamp&limit=20`
      return { method: 'GET', path, headers: classHeaders }
    }
    case 6:
      return { method: 'GET', path: `/ehr/${ehrId}/careplan`, headers: pathHeaders }
    default: {
      const body = JSON.stringify({ carePlanId, ...weight(weightIndex++) })
      return { method: 'POST', path: weights, headers: pathHeaders, body }
    }
  }
}
