import type { ObjectUpdate } from '../../records/ehr-records/ehr-records.ts'
import type { ClassKind, Values } from '../../records/ehr-records/kind.ts'
import { requireNoViolations } from '../../records/ehr-records/refusals/refusals.ts'
import { createBatchedLookup } from '../../records/store/batching/batched-lookup.ts'
import type { Caller } from '../../records/store/documents/caller.ts'
import { type Database, documentCollection } from '../../records/store/documents/database.ts'
import { newId } from '../../records/store/documents/ids.ts'
import type { ParseDocument } from '../../records/store/documents/parse-format.ts'
import type { ExpectedVersions } from '../../records/store/write-decider.ts'
import { markedFieldNames } from '../../schemas/forms/fields.ts'
import type { ObjectWriteRequest } from '../parse-server/adapter/request/request-database.ts'
import type { ObjectWriter } from '../parse-server/object-writes.ts'
import { translateOutage, translateServiceErrors } from '../request/parse-errors.ts'
import { applyUpdate, computedFieldNames, pickValues } from './apply-update.ts'

/** The objects of one class, as the path family writes them. */
export interface ObjectRecords {
  createObject(caller: Caller, values: Values, id: string): Promise<ParseDocument>
  updateObject(
    caller: Caller,
    id: string,
    update: ObjectUpdate,
    expected: ExpectedVersions,
  ): Promise<ParseDocument>
  removeObject(caller: Caller, id: string, expected: ExpectedVersions): Promise<void>
  store: {
    requireChangeable(
      caller: Caller,
      document: ParseDocument | undefined,
      expected: ExpectedVersions,
    ): ParseDocument
  }
}

/** Creates the writer of a class. It converts errors to those of Parse. */
export function createObjectWriter(
  database: Pick<Database, 'db'>,
  { name, fields, checks }: ClassKind,
  records: ObjectRecords,
): ObjectWriter {
  const createsRoles = name === 'Ehr'
  const statusNames = markedFieldNames(fields, 'status')
  const translate = <T>({ tellVersion }: ObjectWriteRequest, write: () => Promise<T>): Promise<T> =>
    translateOutage(translateServiceErrors(write, tellVersion))
  const documents = documentCollection(database, name)
  const lookup = createBatchedLookup((ids) => documents.find({ _id: { $in: ids } }).toArray())
  return {
    find: (request, id) =>
      translate(request, async () =>
        records.store.requireChangeable(await request.caller(), await lookup(id), request.expected),
      ),
    create: (request, values) =>
      translate(request, async () => {
        const document = await records.createObject(await request.caller(), values, newId())
        if (createsRoles) await request.forgetRoles()
        return document
      }),
    update: (request, id, changes) =>
      translate(request, async () => {
        const closes = statusNames.some((name) => name in changes)
        const computedNames = computedFieldNames(changes)
        const apply = (now: Values) => {
          const next = applyUpdate(now, changes)
          // The trigger has seen an earlier value. No date is computed, so both forms of these fields are the same.
          requireNoViolations(checks.update(pickValues(next, computedNames)))
          return next
        }
        return records.updateObject(await request.caller(), id, { apply, closes }, request.expected)
      }),
    remove: (request, id) =>
      translate(request, async () => records.removeObject(await request.caller(), id, request.expected)),
  }
}
