/** The requests of a heavy user, by their names in the table. */
import type { Call } from './load.ts'
import type { BenchPerson } from './people.ts'

const PARTS_OF_BATCH = 50
const MEASUREMENTS_OF_BATCH = 1_000
const EVERYTHING =
  'SELECT e/ehr_id/value, o/data[at0001]/events[at0006]/data[at0003]/items[at0004]/value/magnitude AS systolic ' +
  'FROM EHR e CONTAINS COMPOSITION c CONTAINS OBSERVATION o[openEHR-EHR-OBSERVATION.blood_pressure.v2] ORDER BY systolic'

let measured = 0
const newPressure = (carePlanId: string) => ({
  kind: 'bloodpressure',
  carePlanId,
  timestamp: new Date(Date.UTC(2020, 0, 1) + measured++ * 60_000).toISOString(),
  systolic: 120,
  systolicUnit: 'mm[Hg]',
  diastolic: 80,
  diastolicUnit: 'mm[Hg]',
})

const listOfClass = ({ carePlanId }: BenchPerson): string =>
  `/1/classes/BloodPressure?where=${encodeURIComponent(JSON.stringify({ carePlanId }))}&limit=1000`

export const heavyCalls: Record<string, (heavy: BenchPerson) => Call> = {
  'class lists of 1,000': (heavy) => ({
    method: 'GET',
    path: listOfClass(heavy),
    headers: heavy.classHeaders,
  }),
  'path lists of 1,000': ({ ehrId, pathHeaders }) => ({
    method: 'GET',
    path: `/ehr/${ehrId}/procedure/bloodpressure?limit=1000`,
    headers: pathHeaders,
  }),
  'batches of 50 lists': ({ carePlanId, classHeaders }) => {
    const list = {
      method: 'GET',
      path: '/1/classes/BloodPressure',
      body: { where: { carePlanId }, limit: 1000 },
    }
    const body = JSON.stringify({ requests: Array.from({ length: PARTS_OF_BATCH }, () => list) })
    return { method: 'POST', path: '/1/batch', headers: classHeaders, body }
  },
  exports: ({ userId, pathHeaders }) => ({
    method: 'GET',
    path: `/profile/${userId}/export`,
    headers: pathHeaders,
  }),
  'AQL over everything': ({ pathHeaders }) => ({
    method: 'POST',
    path: '/med/aql',
    headers: pathHeaders,
    body: JSON.stringify({ q: EVERYTHING }),
  }),
  'batches of 1,000 measurements': ({ ehrId, carePlanId, pathHeaders }) => {
    const items = Array.from({ length: MEASUREMENTS_OF_BATCH }, () => newPressure(carePlanId))
    return {
      method: 'POST',
      path: `/ehr/${ehrId}/procedure/batch`,
      headers: pathHeaders,
      body: JSON.stringify({ items }),
    }
  },
  timelines: ({ ehrId, pathHeaders }) => ({
    method: 'GET',
    path: `/ehr/${ehrId}/summary/timeline?limit=1000`,
    headers: pathHeaders,
  }),
}
