import { type Db, MongoClient } from 'mongodb'
import { extractIndexedValues } from '../../openehr/compositions/facts.ts'
import { compositionHead, toComposition } from '../../openehr/measurement-mapping/to-composition.ts'
import { Composition } from '../../records/compositions/composition-record.ts'
import { ehrPermissions } from '../../records/ehrs/rights/access.ts'
import { BloodPressure } from '../../records/measurements/kinds/blood-pressure.ts'
import type { MeasurementKind } from '../../records/measurements/measurement.ts'
import { newId, newUuid } from '../../records/store/documents/ids.ts'
import { type ParseDocument, toStoredPermissions } from '../../records/store/documents/parse-format.ts'

export const COMPOSITIONS_PER_EHR = 10
/** EHRs that are written at a time. */
const EHRS_PER_BATCH = 200
/** Who is asked for. */
const SAMPLE_SIZE = 200
const START_TIME_MS = Date.UTC(2025, 0, 1)
const YEAR_MS = 365 * 86_400_000
const kind = BloodPressure as unknown as MeasurementKind

/** One of a hundred is 180 or more, so that one of a thousand is in one month. */
const systolicOf = (i: number): number => (i % 100 < 99 ? 100 + (i % 80) : 180 + (i % 7))

/** A blood pressure as a composition, of any moment of a year. */
export function createPressureComposition(
  i: number,
  at = START_TIME_MS + Math.floor(Math.random() * YEAR_MS),
) {
  const values = { systolicMmHg: systolicOf(i), diastolicMmHg: 60 + (i % 30) }
  const record = { _id: newId(), version: 1, timestamp: new Date(at), ...values }
  const { uid: _, ...composition } = toComposition(kind, record as unknown as ParseDocument)
  return composition
}

/**
 * Commits that many blood pressures, ten in each EHR of one subject, through the driver: with what queries need of them, but
 * without history and audit, and without the measurements that they hold.
 * @returns some of the EHRs
 */
export async function loadCompositions(uri: string, subjectId: string, items: number): Promise<string[]> {
  const client = await MongoClient.connect(uri)
  const db = client.db()
  const { templateId, name, archetypes } = compositionHead(kind)
  const [template] = await db.collection('openehr.templates').find({ templateId }).toArray()
  const ehrIds = Array.from({ length: items / COMPOSITIONS_PER_EHR }, newId)
  const kept = { template: String(template?._id), templateId, name, archetypes, links: [] }
  for (let i = 0; i < ehrIds.length; i += EHRS_PER_BATCH) {
    const some = ehrIds.slice(i, i + EHRS_PER_BATCH)
    process.stderr.write(`\r${i * COMPOSITIONS_PER_EHR} of ${items} compositions`)
    const ehrs = some.map((id) => createDocument(id, id, subjectId, { subjectId }))
    const compositions = some.flatMap((ehrId, at) =>
      Array.from({ length: COMPOSITIONS_PER_EHR }, (_, nth) => {
        const composition = createPressureComposition((i + at) * COMPOSITIONS_PER_EHR + nth)
        const own = { ...extractIndexedValues(composition), json: JSON.stringify(composition) }
        return createDocument(newUuid(), ehrId, subjectId, { ehrId, ...kept, ...own })
      }),
    )
    await Promise.all([
      insertDocuments(db, 'Ehr', ehrs),
      insertDocuments(db, Composition.collection, compositions),
    ])
  }
  process.stderr.write('\n')
  await client.close()
  const every = Math.max(1, Math.floor(ehrIds.length / SAMPLE_SIZE))
  return ehrIds.filter((_, i) => i % every === 0).slice(0, SAMPLE_SIZE)
}

const insertDocuments = (db: Db, collection: string, documents: ParseDocument[]) =>
  db.collection<ParseDocument>(collection).insertMany(documents, { ordered: false })

function createDocument(_id: string, ehrId: string, subjectId: string, fields: object): ParseDocument {
  const at = new Date()
  const permissions = toStoredPermissions(ehrPermissions({ _id: ehrId, subjectId }))
  return { _id, version: 1, _created_at: at, _updated_at: at, ...fields, ...permissions }
}
