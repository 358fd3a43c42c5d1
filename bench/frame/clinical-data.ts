import { type Db, MongoClient } from 'mongodb'
import { ehrPermissions, planPermissions } from '../../records/ehrs/rights/access.ts'
import { newId } from '../../records/store/documents/ids.ts'
import { type ParseDocument, toStoredPermissions } from '../../records/store/documents/parse-format.ts'
import { DAY_MS } from '../../schemas/time/durations.ts'

/** Ids of loaded records: at most `SAMPLE_SIZE` of each kind, evenly spread. */
export interface LoadedIds {
  /** A sample of all EHRs. */
  ehrIds: string[]
  /** A sample of the EHRs with plans, each with 120 open tasks. */
  filledIds: string[]
  plans: { id: string; ehrId: string }[]
}

/** A filled EHR has 20 plans, each with a goal, its six tasks and two blood pressures. */
export const ITEMS_PER_EHR = 200
const TASKS = 6
const PRESSURES = 2
const PLANS_PER_EHR = 20
const EHRS = 10_000
const SAMPLE_SIZE = 2000
/** Plans in one write. */
const PLANS_PER_BATCH = 250

const START_TIME_MS = Date.UTC(2025, 0, 1)

const COLLECTIONS = ['CarePlan', 'Goal', 'Task', 'BloodPressure'] as const
type PlanRecords = Record<(typeof COLLECTIONS)[number], ParseDocument[]>

/**
 * Writes items to 10,000 EHRs of one subject by the driver, in Parse's format, without history, roles and audit. The EHRs
 * are filled one after the other, with 200 items each. So a list of one EHR is equally long at every size.
 */
export async function loadClinicalRecords(
  uri: string,
  name: string,
  subjectId: string,
  items: number,
): Promise<LoadedIds> {
  const client = await MongoClient.connect(uri)
  const db = client.db()
  const ehrIds = Array.from({ length: EHRS }, newId)
  await insertDocuments(
    db,
    'Ehr',
    ehrIds.map((id) => createDocument(id, { subjectId }, ehrPermissions({ _id: id, subjectId }))),
  )
  const plans = Array.from({ length: (items / ITEMS_PER_EHR) * PLANS_PER_EHR }, (_, i) => ({
    id: newId(),
    ehrId: ehrIds[Math.floor(i / PLANS_PER_EHR)] ?? '',
  }))
  for (let i = 0; i < plans.length; i += PLANS_PER_BATCH) {
    const loadedCount = Math.round((i / plans.length) * items)
    process.stderr.write(`\r${name}: ${loadedCount} of ${items} items`)
    const some = plans
      .slice(i, i + PLANS_PER_BATCH)
      .map(({ id, ehrId }) => createPlanRecords(id, ehrId, subjectId))
    await Promise.all(
      COLLECTIONS.map((of) =>
        insertDocuments(
          db,
          of,
          some.flatMap((plan) => plan[of]),
        ),
      ),
    )
  }
  process.stderr.write(`\r${name}: ${items} of ${items} items\n`)
  await client.close()
  const filledIds = ehrIds.slice(0, Math.floor(plans.length / PLANS_PER_EHR))
  return { ehrIds: takeSample(ehrIds), filledIds: takeSample(filledIds), plans: takeSample(plans) }
}

const insertDocuments = (db: Db, collection: string, documents: ParseDocument[]) =>
  db.collection<ParseDocument>(collection).insertMany(documents, { ordered: false })

function createDocument(
  _id: string,
  fields: object,
  permissions: Parameters<typeof toStoredPermissions>[0],
): ParseDocument {
  const at = new Date()
  return { _id, version: 1, _created_at: at, _updated_at: at, ...fields, ...toStoredPermissions(permissions) }
}

function createPlanRecords(carePlanId: string, ehrId: string, subjectId: string): PlanRecords {
  const permissions = planPermissions({ _id: ehrId, subjectId }, carePlanId)
  const add = (fields: object, id = newId()) => createDocument(id, { ehrId, ...fields }, permissions)
  const open = { status: 'ACTIVE', description: 'Half an hour, five days a week' }
  const anyDay = () => new Date(START_TIME_MS + Math.floor(Math.random() * 365) * DAY_MS)
  const goalId = newId()
  const task = (_: unknown, i: number) =>
    add({ ...open, carePlanId, goalId, name: `Walk ${i}`, dueDate: anyDay(), priority: 'HIGH' })
  const pressure = () =>
    add({
      carePlanId,
      timestamp: anyDay(),
      systolic: 100 + Math.floor(Math.random() * 60),
      systolicUnit: 'mm[Hg]',
      diastolic: 60 + Math.floor(Math.random() * 30),
      diastolicUnit: 'mm[Hg]',
    })
  return {
    CarePlan: [add({ ...open, name: 'Lower blood pressure', language: 'en', anonymous: false }, carePlanId)],
    Goal: [add({ ...open, carePlanId, name: 'Walk every day', dueDate: anyDay() }, goalId)],
    Task: Array.from({ length: TASKS }, task),
    BloodPressure: Array.from({ length: PRESSURES }, pressure),
  }
}

/** At most `SAMPLE_SIZE` elements, evenly spread. */
const takeSample = <T>(items: readonly T[]): T[] => {
  const every = Math.max(1, items.length / SAMPLE_SIZE)
  return Array.from(
    { length: Math.min(SAMPLE_SIZE, items.length) },
    (_, i) => items[Math.floor(i * every)] as T,
  )
}
