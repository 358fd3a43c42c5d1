/** Changes of documents, which insert, update, delete and findAndModify share. */
import { type Document, ObjectId, Timestamp } from 'bson'
import { type Update as CompiledUpdate, compileUpdate, hasModifiers } from '../../language/updates/updater.ts'
import { upsertBase } from '../../language/updates/upsert-base.ts'
import type { Collection } from '../../storage/collections/catalog.ts'
import {
  changeCount,
  insertRecord,
  type MatchedRecord,
  removeAll,
  replaceRecord,
} from '../../storage/collections/records.ts'
import type { WritableView } from '../../storage/disk/overlay.ts'
import type { Query } from '../../storage/queries/query.ts'
import {
  bsonType,
  checkSize,
  clone,
  encode,
  isNullish,
  isObject,
  isTooDeep,
  MAX_STORED_DEPTH,
} from '../../values/bson-values.ts'
import { encodeChanged } from '../../values/changed-documents.ts'
import type { Collation } from '../../values/compare.ts'
import { fail } from '../../values/errors.ts'
import { collationOf } from '../../values/options/collation.ts'
import { checkFields } from '../../values/raw-documents.ts'
import type { CommandContext } from '../context.ts'
import type { Statement } from './statement.ts'

/** Checks a document before it is stored, after an update (`isUpdated`) or as the client sent it. @throws 53, 52, 15, 10334 */
const checkDocument = (document: Document, bytes: Buffer, isUpdated: boolean): void => {
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
  if (isTooDeep(document, isUpdated)) fail(15, `The document exceeds ${MAX_STORED_DEPTH} levels of nesting`)
  checkSize(bytes)
}

/** Stores a new document with its `_id` first; creates a missing `_id`. */
export const storeDocument = (
  context: CommandContext,
  view: WritableView,
  collection: Collection,
  document: Document,
  original?: Buffer,
): Document => {
  if (original) checkFields(original)
  const documentBefore = { ...document }
  const bytesFit = original !== undefined && !stampTimes(document)
  const first = Object.keys(document)[0] === '_id'
  const documentWithId = first
    ? document
    : { _id: Object.hasOwn(document, '_id') ? document._id : new ObjectId(), ...document }
  const changedBytes = () =>
    original ? encodeChanged(original, documentBefore, documentWithId) : encode(documentWithId)
  const bytes = first && bytesFit ? original : changedBytes()
  checkDocument(documentWithId, bytes, original === undefined)
  insertRecord(
    view,
    collection,
    context.engine.ids.next(context.engine.storage, collection),
    documentWithId,
    bytes,
  )
  return documentWithId
}

/**
 * Sets zero timestamps among the top-level fields, except _id, to the current time. Returns whether there
 * were any.
 */
const stampTimes = (document: Document): boolean => {
  let isStamped = false
  for (const key in document)
    if (key !== '_id' && bsonType(document[key]) === 'Timestamp' && document[key].isZero()) {
      document[key] = new Timestamp({ t: Math.floor(Date.now() / 1000), i: ++lastStamp })
      isStamped = true
    }
  return isStamped
}

let lastStamp = 0

interface Update {
  name: string
  query: Query
  update: unknown
  arrayFilters?: unknown
  upsert: boolean
  multi: boolean
}

/** @throws 9 for options that this form of update does not allow */
const checkForm = ({ update, multi, arrayFilters }: Update): void => {
  if (multi && !hasModifiers(update)) fail(9, 'multi update is not supported for replacement-style update')
  if (Array.isArray(update) && !isNullish(arrayFilters))
    fail(9, 'arrayFilters may not be specified for pipeline-style updates')
}

const compileStatement = ({ update, query, arrayFilters }: Update, collation?: Collation): CompiledUpdate =>
  compileUpdate(update, { filter: query.filter, arrayFilters, collation, variables: query.variables })

/** Checks an update whose collection does not exist. */
export const checkUpdate = (change: Update): void => {
  checkForm(change)
  compileStatement(change)
}

export const updateStatement = (context: CommandContext, change: Update): Statement => ({
  name: change.name,
  query: change.query,
  single: !change.multi,
  isUpsert: change.upsert,
  change(collection) {
    checkForm(change)
    const { query, upsert } = change
    const update = compileStatement(change, collationOf(query.collation ?? collection.options.collation))
    const replacing = !hasModifiers(change.update)
    const apply: ReturnType<Statement['change']>['apply'] = (view, match, result) => {
      result.matched++
      result.before = match.document
      // The copy has plain documents where the decoder creates DBRefs.
      result.after = update(clone(match.document), false)
      if (replacing) stampTimes(result.after)
      // A replacement counts as a modification even if it changes nothing.
      const bytes = replacing
        ? encode(result.after)
        : encodeChanged(match.bytes, match.document, result.after)
      if (replaceDocument(view, collection, match, result.after, bytes) || replacing) result.modified++
    }
    if (!upsert) return { apply }
    const onNoMatch: ReturnType<Statement['change']>['onNoMatch'] = (view, result) => {
      result.after = storeDocument(
        context,
        view,
        collection,
        update(upsertBase(query.filter, replacing), true),
      )
      result.upsertedId = result.after._id
      changeCount(view, collection, 1)
    }
    return { apply, onNoMatch }
  },
})

export const removeStatement = (name: string, query: Query, single: boolean): Statement => ({
  name,
  query,
  single,
  change: (collection) => ({
    apply(view, match, result) {
      result.matched++
      result.before = match.document
      removeAll(view, collection, [match])
    },
  }),
})

const replaceDocument = (
  view: WritableView,
  collection: Collection,
  match: MatchedRecord,
  document: Document,
  bytes: Buffer,
): boolean => {
  if (bytes.equals(match.bytes)) return false
  checkDocument(document, bytes, true)
  replaceRecord(view, collection, match, document, bytes)
  return true
}
