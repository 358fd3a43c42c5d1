/** One document's, or one filter's, change: what insert, update, delete and findAndModify share. */
import { type Document, ObjectId } from 'bson'
import { compileUpdate, isModifiers, upsertBase } from '../../language/updates/updater.ts'
import type { Collection } from '../../storage/collections/catalog.ts'
import { changeCount, insertRecord, type Match, replaceRecord } from '../../storage/collections/records.ts'
import type { WritableView } from '../../storage/disk/overlay.ts'
import { find, type Query } from '../../storage/queries/query.ts'
import { collationOf } from '../../values/collation.ts'
import { fail } from '../../values/errors.ts'
import { bsonType, decode, encode, isObject, isTooDeep } from '../../values/values.ts'
import type { Context } from '../context.ts'

const LARGEST_DOCUMENT = 16 * 1024 * 1024

/** Checks a document on its way in. @throws 53, 52, 15, 10334 */
const checkDocument = (document: Document, bytes: Buffer): void => {
  const id = document._id
  if (Array.isArray(id) || id === undefined || bsonType(id) === 'BSONRegExp')
    fail(
      53,
      `The '_id' value cannot be of type ${Array.isArray(id) ? 'array' : id === undefined ? 'undefined' : 'regex'}`,
    )
  if (isObject(id) && !bsonType(id))
    for (const key of Object.keys(id))
      if (key.startsWith('$'))
        fail(52, `The dollar ($) prefixed field '${key}' in '_id.${key}' is not valid for storage.`)
  if (isTooDeep(document)) fail(15, 'Document exceeded maximum nested object depth: 200')
  if (bytes.length > LARGEST_DOCUMENT)
    fail(10334, `BSONObj size: ${bytes.length} is invalid. Size must be between 0 and ${LARGEST_DOCUMENT}`)
}

/** Stores a new document, its `_id` first and made when it has none. */
export const store = (
  context: Context,
  view: WritableView,
  collection: Collection,
  document: Document,
  original?: Buffer,
): Document => {
  const first = Object.keys(document)[0] === '_id'
  const complete = first
    ? document
    : { _id: Object.hasOwn(document, '_id') ? document._id : new ObjectId(), ...document }
  const bytes = first && original ? original : encode(complete)
  checkDocument(complete, bytes)
  insertRecord(view, collection, context.engine.ids.next(context.engine.storage, collection), complete, bytes)
  return complete
}

interface Change {
  query: Query
  update: unknown
  arrayFilters?: unknown
  upsert: boolean
  multi: boolean
}

interface Changed {
  matched: number
  modified: number
  before?: Document | undefined
  after?: Document | undefined
  upsertedId?: unknown
}

export const applyUpdate = (
  context: Context,
  view: WritableView,
  collection: Collection,
  change: Change,
): Changed => {
  const { query, multi, upsert } = change
  if (multi && !isModifiers(change.update))
    fail(9, 'multi update is not supported for replacement-style update')
  const update = compileUpdate(change.update, {
    filter: query.filter,
    arrayFilters: change.arrayFilters,
    collation: collationOf(query.collation ?? collection.options.collation),
    variables: query.variables,
  })
  const matches = [...find(view, collection, { ...query, limit: multi ? 0 : 1 })]
  const changed: Changed = { matched: matches.length, modified: 0, before: matches[0]?.document }
  for (const match of matches) {
    changed.before = match.document
    changed.after = update(decode(match.bytes), false)
    if (replace(view, collection, match, changed.after)) changed.modified++
  }
  if (matches.length === 0 && upsert) {
    changed.after = store(context, view, collection, update(upsertBase(query.filter), true))
    changed.upsertedId = changed.after._id
    changeCount(view, collection, 1)
  }
  return changed
}

const replace = (view: WritableView, collection: Collection, match: Match, document: Document): boolean => {
  const bytes = encode(document)
  if (bytes.equals(match.bytes)) return false
  checkDocument(document, bytes)
  replaceRecord(view, collection, match, document, bytes)
  return true
}
