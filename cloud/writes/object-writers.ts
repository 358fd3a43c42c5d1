import type { Ehrs } from '../../records/ehrs/ehrs.ts'
import { CLASS_NAMES, classKindOf, isClassName } from '../../records/kinds.ts'
import type { Database } from '../../records/store/documents/database.ts'
import type { FindObjectWriter } from '../parse-server/object-writes.ts'
import { createObjectWriter, type ObjectRecords } from './object-writer.ts'

/** Finds the writer of each class of health data. */
export function createObjectWriters(
  database: Pick<Database, 'db'>,
  ehrs: Ehrs,
  recordsOf: (kind: { name: string }) => ObjectRecords,
): FindObjectWriter {
  const writers = new Map(
    CLASS_NAMES.map((name) => [
      name,
      createObjectWriter(database, classKindOf(name), name === 'Ehr' ? ehrs : recordsOf({ name })),
    ]),
  )
  return (className) => (isClassName(className) ? writers.get(className) : undefined)
}
