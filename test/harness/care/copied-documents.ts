import type { Document } from 'mongodb'
import { newId } from '../../../records/store/documents/ids.ts'
import { service } from '../service/service.ts'

/** Stores copies of a document with other values, as many requests would have done. */
export async function copyDocument(
  collection: string,
  _id: string,
  count: number,
  more: (i: number) => object = () => ({}),
): Promise<void> {
  const documents = service.db.collection<{ _id: string }>(collection)
  const { history: _, ...one } = ((await documents.findOne({ _id })) ?? {}) as Document
  for (let i = 0; i < count; i += 10)
    await documents.insertMany(
      Array.from({ length: Math.min(10, count - i) }, (_, n) => ({ ...one, ...more(i + n), _id: newId() })),
    )
}
