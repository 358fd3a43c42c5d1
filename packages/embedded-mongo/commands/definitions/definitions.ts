/** Databases and collections: creates, lists, renames and drops them. */
import { Binary, Long } from 'bson'
import { compileFilter } from '../../language/filters/matcher.ts'
import { type Collection, checkNamespace, describeCollection } from '../../storage/collections/catalog.ts'
import type { WritableView } from '../../storage/disk/overlay.ts'
import { bsonType, encode, isNullish, isTruthy } from '../../values/bson-values.ts'
import { CommandError, fail } from '../../values/errors.ts'
import { roundToWhole } from '../../values/numbers.ts'
import { collationOf, completeCollation } from '../../values/options/collation.ts'
import { boolean, checkEach, flag, number, wrongType } from '../../values/options/option-types.ts'
import { type Command, cursorReply, targetCollection } from '../context.ts'
import { batchSizeOf } from '../index-commands.ts'
import { collMod } from './coll-mod.ts'
import {
  checkCollectionOptions,
  checkIdIndexOption,
  refusedOptions,
  validationOptions,
} from './collection-options.ts'

const create: Command = {
  options: `${refusedOptions} ${validationOptions} collation autoIndexId flags idIndex`,
  async run({ engine, db, command }) {
    checkCollectionOptions(command, 'create')
    collationOf(command.collation)
    checkIdIndexOption(command)
    const options = isNullish(command.collation) ? {} : { collation: completeCollation(command.collation) }
    await engine.write((view) => engine.catalog.create(view, db, command.create, options))
    return { ok: 1 }
  },
}

const drop: Command = {
  options: '',
  async run(context) {
    const { engine, timer } = context
    const { ns, collection } = targetCollection(context, 'drop')
    // Parse Server recognises this error by its message.
    const nIndexesWas = (collection ?? fail(26, 'ns not found')).indexes.length
    await engine.changeDefinition(ns, (view, collection) => engine.drop(view, collection), { timer })
    return { nIndexesWas, ns, ok: 1 }
  },
}

const dropDatabase: Command = {
  options: '',
  async run({ engine, db, command, timer }) {
    if (isNullish(command.dropDatabase))
      fail(40414, "BSON field 'dropDatabase.dropDatabase' is missing but a required field")
    number(command.dropDatabase, 'dropDatabase.dropDatabase')
    if (roundToWhole(command.dropDatabase) !== 1) fail(5255100, 'dropDatabase must be 1')
    if (BUILT_IN_DATABASES.includes(db) && db !== 'config')
      fail(20, `Dropping the database ${db} is prohibited`)
    for (const { ns } of engine.catalog.list(db))
      await engine
        .changeDefinition(ns, (view, collection) => engine.drop(view, collection), { timer })
        .catch(acceptMissing)
    return { ok: 1 }
  },
}

/** Another client may drop the collection first. */
const acceptMissing = (error: unknown): void => {
  if (!(error instanceof CommandError && error.code === 26)) throw error
}

const renameCollection: Command = {
  options: 'to dropTarget',
  async run({ engine, command, timer }) {
    const { renameCollection: from, to, dropTarget } = command
    if (typeof from !== 'string' || typeof to !== 'string')
      return fail(14, 'renameCollection needs two namespaces')
    checkDropTarget(dropTarget)
    const [db, name] = splitNamespace(to)
    if (from === to) fail(20, "Can't rename a collection to itself")
    for (const ns of [from, to])
      if (/^[^.]*\.system\.|^local\.oplog\../.test(ns)) fail(20, `${ns} is a system collection`)
    checkNamespace(db, name)
    engine.catalog.get(from)
    const existing = engine.catalog.find(to)
    if (existing && !isTruthy(dropTarget)) fail(48, 'target namespace exists')
    const rename = (view: WritableView, collection: Collection) => {
      if (!collection.indexes.every(({ ready }) => ready))
        fail(12587, `cannot rename ${from} while an index of it is built`)
      const target = engine.catalog.find(to)
      if (target) engine.drop(view, target)
      engine.catalog.rename(view, collection, db, name)
    }
    await engine.changeDefinition(from, rename, { other: to, timer })
    return { ok: 1 }
  },
}

/** dropTarget as the target's UUID is not supported. */
const checkDropTarget = (dropTarget: unknown): void => {
  if (dropTarget === undefined || typeof dropTarget === 'boolean') return
  if (bsonType(dropTarget) !== 'Binary') wrongType('renameCollection.dropTarget', 'bool')
  const { sub_type: type, position: length } = dropTarget as Binary
  if (type !== Binary.SUBTYPE_UUID || length !== 16) fail(207, 'dropTarget is not a UUID')
  fail(115, 'dropTarget as a UUID is not supported by this engine')
}

const splitNamespace = (ns: string): [db: string, name: string] => {
  const dot = ns.indexOf('.')
  return [ns.slice(0, Math.max(dot, 0)), ns.slice(dot + 1)]
}

const listCollections: Command = {
  options: 'filter nameOnly authorizedCollections cursor',
  async run({ engine, db, command, timer, owner }) {
    checkEach(command, 'listCollections', { nameOnly: boolean, authorizedCollections: boolean })
    const test = compileFilter(command.filter ?? {})
    const descriptions = engine.catalog.list(db).map(describeCollection)
    const collections = (
      command.nameOnly ? descriptions.map(({ name, type }) => ({ name, type })) : descriptions
    ).filter(test)
    const size = batchSizeOf(command.cursor, 'listCollections')
    return cursorReply(
      await engine.cursors.start(
        { ns: `${db}.$cmd.listCollections`, documents: collections.map(encode), timer, owner },
        // Asking for one more than exist tells the cursor that none are left.
        size === collections.length ? size + 1 : size,
      ),
      'firstBatch',
    )
  },
}

/** Every MongoDB server has these databases, even if they are empty. */
const BUILT_IN_DATABASES = ['admin', 'config', 'local']

const listDatabases: Command = {
  options: 'filter nameOnly authorizedDatabases',
  run({ engine, command }) {
    checkEach(command, 'listDatabases', { nameOnly: flag, authorizedDatabases: boolean })
    const names = [...new Set([...BUILT_IN_DATABASES, ...engine.catalog.list().map(({ db }) => db)])].sort()
    const test = compileFilter(command.filter ?? {})
    if (isTruthy(command.nameOnly)) return { databases: names.map((name) => ({ name })).filter(test), ok: 1 }
    // The engine does not keep sizes.
    const databases = names.map((name) => ({ name, sizeOnDisk: Long.ZERO, empty: false })).filter(test)
    return { databases, totalSize: Long.ZERO, totalSizeMb: Long.ZERO, ok: 1 }
  },
}

export const definitions: Record<string, Command> = {
  create,
  drop,
  dropDatabase,
  renameCollection,
  collMod,
  listCollections,
  listDatabases,
}
