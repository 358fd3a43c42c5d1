import { type Collection, type Db, MongoClient } from 'mongodb'
import { ehrPermissions, planPermissions, planRole } from '../../records/ehrs/rights/access.ts'
import { BloodPressure } from '../../records/measurements/kinds/blood-pressure.ts'
import { newId } from '../../records/store/documents/ids.ts'
import {
  createParseFormat,
  type ParseDocument,
  toStoredPermissions,
} from '../../records/store/documents/parse-format.ts'
import { MINUTE_MS } from '../../schemas/time/durations.ts'
import type { Side } from '../frame/compare-sides.ts'

const PEOPLE = 1_000
/** The number of people whose plan the nurse may read. */
const NURSED_PATIENTS = 500
/** Blood pressures of the patient who sends the requests, so that a list of 100 is full at every size. */
const MIN_OF_FIRST_PATIENT = 100
const RECORDS_PER_BATCH = 10_000
const START_TIME_MS = Date.UTC(2025, 0, 1)

/** A patient with a record, a plan and blood pressures in it. */
export interface Patient {
  userId: string
  ehrId: string
  carePlanId: string
}

/**
 * Writes blood pressures by the driver, in Parse's format, with derived values, but without history and audit. The first
 * person is the patient who sends the requests. A nurse may read 500 of the plans.
 */
export async function loadMeasurements(
  uri: string,
  asks: { userId: string; nurseId?: string | undefined },
  items: number,
  people = PEOPLE,
): Promise<Patient> {
  const client = await MongoClient.connect(uri)
  const db = client.db()
  const patients = Array.from({ length: people }, (_, i) => ({
    userId: i === 0 ? asks.userId : newId(),
    ehrId: newId(),
    carePlanId: newId(),
  }))
  await insertDocuments(db, 'Ehr', patients.map(createEhr))
  await insertDocuments(db, 'CarePlan', patients.map(createPlan))
  if (asks.nurseId) await addNurse(db, asks.nurseId, patients.slice(0, NURSED_PATIENTS))
  const measured = createPatientPicker(patients, Math.min(people, Math.max(1, items / MIN_OF_FIRST_PATIENT)))
  for (let i = 0; i < items; i += RECORDS_PER_BATCH) {
    process.stderr.write(`\r${i} of ${items} blood pressures`)
    const some = Array.from({ length: Math.min(RECORDS_PER_BATCH, items - i) }, (_, at) =>
      createPressure(measured(i + at), i + at),
    )
    await insertDocuments(db, 'BloodPressure', some)
  }
  process.stderr.write('\n')
  await client.close()
  return patients[0] as Patient
}

/** The ids of the newest blood pressures of a patient. */
export async function findNewestIds({ url, headers }: Side, { ehrId }: Patient): Promise<string[]> {
  const answer = await fetch(`${url}/ehr/${ehrId}/procedure/bloodpressure?limit=100`, { headers })
  const { items } = (await answer.json()) as { items: { id: string }[] }
  return items.map(({ id }) => id)
}

/** Chooses the person of a measurement: at a fixed interval the first one, otherwise the others in turn. */
const createPatientPicker =
  ([first, ...others]: readonly Patient[], every: number) =>
  (i: number) =>
    (i % every === 0 ? first : others[(i - Math.floor(i / every) - 1) % others.length]) as Patient

const insertDocuments = (db: Db, collection: string, documents: ParseDocument[]) =>
  db.collection<ParseDocument>(collection).insertMany(documents, { ordered: false })

function createDocument(_id: string, fields: object, permissions: Parameters<typeof toStoredPermissions>[0]) {
  const at = new Date()
  const meta = { version: 1, _created_at: at, _updated_at: at }
  return { _id, ...meta, ...fields, ...toStoredPermissions(permissions) }
}

const ehrHeadOf = ({ userId, ehrId }: Patient) => ({ _id: ehrId, subjectId: userId })

const createEhr = (patient: Patient) =>
  createDocument(patient.ehrId, { subjectId: patient.userId }, ehrPermissions(ehrHeadOf(patient)))

const createPlan = (patient: Patient) =>
  createDocument(
    patient.carePlanId,
    {
      ehrId: patient.ehrId,
      name: 'Lower blood pressure',
      status: 'ACTIVE',
      language: 'en',
      anonymous: false,
    },
    planPermissions(ehrHeadOf(patient), patient.carePlanId),
  )

const format = createParseFormat(BloodPressure.schema)

/** A number that gives every person all values. */
const mixNumber = (i: number): number => Math.floor(i / PEOPLE) * 31 + i * 7919

/** A blood pressure in the stored form. */
function createStoredPressure({ ehrId, carePlanId }: Patient, i: number): Record<string, unknown> {
  const fields = {
    ehrId,
    carePlanId,
    timestamp: new Date(START_TIME_MS + i * MINUTE_MS).toISOString(),
    systolic: 100 + (mixNumber(i) % 80),
    systolicUnit: 'mm[Hg]',
    diastolic: 60 + (mixNumber(i) % 30),
    diastolicUnit: 'mm[Hg]',
  }
  return format.toStored({ ...fields, ...BloodPressure.rules.derived?.(fields) } as never)
}

const createPressure = (patient: Patient, i: number) => ({
  ...createDocument(
    newId(),
    createStoredPressure(patient, i),
    planPermissions(ehrHeadOf(patient), patient.carePlanId),
  ),
  _created_at: new Date(START_TIME_MS + i * MINUTE_MS),
})

interface Row {
  _id: string
}

/** Gives a nurse the role to read these plans. */
async function addNurse(db: Db, userId: string, patients: readonly Patient[]): Promise<void> {
  const names = patients.map(({ carePlanId }) => planRole(carePlanId, 'read'))
  const at = new Date()
  const closed = { _created_at: at, _updated_at: at, ...toStoredPermissions({ read: [], write: [] }) }
  const rows = (name: string): Collection<Row> => db.collection<Row>(name)
  await rows('_Role').insertMany(names.map((name) => ({ _id: name, name, ...closed })))
  await rows('_Join:users:_Role').insertMany(
    names.map((name) => ({ _id: `${name}$${userId}`, owningId: name, relatedId: userId })),
  )
}
