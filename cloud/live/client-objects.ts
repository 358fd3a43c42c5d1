import { formerFieldsOf, isMapped } from '../../records/fhir/mapping.ts'
import type { RecordChange } from '../../records/history/changes.ts'
import { classKindOf, isClassName } from '../../records/kinds.ts'
import { documentCollection } from '../../records/store/documents/database.ts'
import type { ParseDocument } from '../../records/store/documents/parse-format.ts'
import type { StoreContext } from '../../records/store/writing/transaction.ts'
import type { ParseTransform } from '../parse-server/internals.ts'

/** Converts the documents of changes to the class form, without what only the present version shows. */
export async function toClientObjects(
  context: StoreContext,
  forms: ParseTransform,
  changes: readonly RecordChange[],
): Promise<Map<ParseDocument, object>> {
  const objects = new Map<ParseDocument, object>()
  for (const { collection, before, after } of changes)
    for (const document of [before, after])
      if (document) {
        const visibleDocument = await withoutWithdrawnFields(context, collection, document)
        objects.set(document, await forms.toObject(collection, visibleDocument))
      }
  return objects
}

/** The author of a message may have withdrawn its text since. */
async function withoutWithdrawnFields(
  context: StoreContext,
  collection: string,
  document: ParseDocument,
): Promise<ParseDocument> {
  const mapping = isClassName(collection) ? classKindOf(collection).fhir : undefined
  if (!isMapped(mapping) || !mapping.onlyInPresent) return document
  const { _id, version } = document
  const present = await documentCollection(context, collection).findOne({ _id, version })
  return present ? document : (formerFieldsOf(mapping, document) as ParseDocument)
}
