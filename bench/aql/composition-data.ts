import { type Db, MongoClient } from 'mongodb'
import { measurementView } from '../../openehr/composition-views/measurements/measurement-view.ts'
import { searchFieldsOf } from '../../openehr/compositions/search-fields.ts'
import { Composition } from '../../records/compositions/composition-record.ts'
import { ehrPermissions } from '../../records/ehrs/rights/access.ts'
import { BloodPressure } from '../../records/measurements/kinds/blood-pressure.ts'
import type { MeasurementKind } from '../../records/measurements/measurement.ts'
import { newId, newUuid } from '../../records/store/documents/ids.ts'
import { type ParseDocument, toStoredPermissions } from '../../records/store/documents/parse-format.ts'

/** Clients read and write the small EHRs, which have at most half of the compositions. */
const MAX_SMALL_EHRS = 200
const COMPOSITIONS_OF_SMALL = 10
/** One EHR has the size of a record of many years. */
const COMPOSITIONS_OF_LARGE = 10_000
/** The size of all other EHRs. */
const COMPOSITIONS_PER_EHR = 100
/** Enough for small EHRs of each of 24 clients. A large EHR needs twice its compositions. */
export const MIN_COMPOSITIONS = 1_000
/** Compositions in one write. */
const COMPOSITIONS_PER_BATCH = 2_000
const START_TIME_MS = Date.UTC(2025, 0, 1)
const YEAR_MS = 365 * 86_400_000
const view = measurementView(BloodPressure as unknown as MeasurementKind)

/** One of a hundred values is 180 or more, so one of a thousand is that high in a given month. */
const systolicOf = (i: number): number => (i % 100 < 99 ? 100 + (i % 80) : 180 + (i % 7))

/** A blood pressure as a composition, by default at a random moment of a year. */
export function createPressureComposition(
  i: number,
  at = START_TIME_MS + Math.floor(Math.random() * YEAR_MS),
) {
  const values = { systolicMmHg: systolicOf(i), diastolicMmHg: 60 + (i % 30) }
  const record = { _id: newId(), version: 1, timestamp: new Date(at), ...values }
  const { uid: _, ...composition } = view.toComposition(record as unknown as ParseDocument)
  return composition
}

/** The small EHRs, each with one of its compositions, and the large EHR if there is one. */
export interface LoadedEhrs {
  small: { ehrId: string; compositionId: string }[]
  large: string | undefined
}

/** Chooses the number of compositions of each EHR. */
function planEhrs(items: number): { ehrId: string; count: number }[] {
  const small = Math.min(MAX_SMALL_EHRS, Math.floor(items / 2 / COMPOSITIONS_OF_SMALL))
  const sizes = new Array<number>(small).fill(COMPOSITIONS_OF_SMALL)
  if (items >= 2 * COMPOSITIONS_OF_LARGE) sizes.unshift(COMPOSITIONS_OF_LARGE)
  let left = items - sizes.reduce((sum, size) => sum + size, 0)
  for (; left > 0; left -= COMPOSITIONS_PER_EHR) sizes.push(Math.min(left, COMPOSITIONS_PER_EHR))
  return sizes.map((count) => ({ ehrId: newId(), count }))
}

/**
 * Writes blood pressures as compositions to EHRs of one subject by the driver, with the fields that queries need, but
 * without history, audit and measurements.
 */
export async function loadCompositions(uri: string, subjectId: string, items: number): Promise<LoadedEhrs> {
  const client = await MongoClient.connect(uri)
  const db = client.db()
  const { templateId, name } = view.head
  const [template] = await db.collection('openehr.templates').find({ templateId }).toArray()
  const templateFields = { template: String(template?._id), templateId, name }
  const ehrs = planEhrs(items)
  const loadedEhrs: LoadedEhrs = { small: [], large: undefined }
  let compositions: ParseDocument[] = []
  let compositionCount = 0
  for (const { ehrId, count } of ehrs) {
    await insertDocuments(db, 'Ehr', [createDocument(ehrId, ehrId, subjectId, { subjectId })])
    for (let nth = 0; nth < count; nth++) {
      const composition = createPressureComposition(compositionCount++)
      const own = { ...searchFieldsOf(composition as never), json: JSON.stringify(composition) }
      const compositionId = newUuid()
      compositions.push(createDocument(compositionId, ehrId, subjectId, { ehrId, ...templateFields, ...own }))
      if (nth === 0 && count === COMPOSITIONS_OF_SMALL) loadedEhrs.small.push({ ehrId, compositionId })
      if (compositions.length < COMPOSITIONS_PER_BATCH) continue
      await insertDocuments(db, Composition.collection, compositions)
      compositions = []
      process.stderr.write(`\r${compositionCount} of ${items} compositions`)
    }
    if (count === COMPOSITIONS_OF_LARGE) loadedEhrs.large = ehrId
  }
  if (compositions.length > 0) await insertDocuments(db, Composition.collection, compositions)
  process.stderr.write('\n')
  await client.close()
  return loadedEhrs
}

const insertDocuments = (db: Db, collection: string, documents: ParseDocument[]) =>
  db.collection<ParseDocument>(collection).insertMany(documents, { ordered: false })

function createDocument(_id: string, ehrId: string, subjectId: string, fields: object): ParseDocument {
  const at = new Date()
  const permissions = toStoredPermissions(ehrPermissions({ _id: ehrId, subjectId }))
  return { _id, version: 1, _created_at: at, _updated_at: at, ...fields, ...permissions }
}
