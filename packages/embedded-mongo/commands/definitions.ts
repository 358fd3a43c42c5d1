/** Databases, collections and indexes: made, listed, renamed, dropped. */
import type { Document } from 'bson'
import { compileFilter } from '../language/filters/matcher.ts'
import { checkNamespace, describe } from '../storage/collections/catalog.ts'
import { findIndex } from '../storage/queries/planner.ts'
import { collationOf, completeCollation } from '../values/collation.ts'
import { fail } from '../values/errors.ts'
import { encode, isNullish, isNumeric, isObject, truthy } from '../values/values.ts'
import { type Command, cursorReply, target } from './context.ts'
import { batchSizeOf } from './index-commands.ts'

const refusedOptions =
  'capped size max timeseries viewOn pipeline clusteredIndex validator expireAfterSeconds encryptedFields ' +
  'changeStreamPreAndPostImages'

const checkRefused = (command: Document): void => {
  for (const option of refusedOptions.split(' '))
    if (truthy(command[option])) fail(115, `option ${option} is not supported by this engine`)
}

const create: Command = {
  options: `${refusedOptions} collation validationLevel validationAction storageEngine indexOptionDefaults autoIndexId flags idIndex`,
  async run({ engine, db, command }) {
    checkRefused(command)
    collationOf(command.collation)
    const options = isNullish(command.collation) ? {} : { collation: completeCollation(command.collation) }
    await engine.write((view) => engine.catalog.create(view, db, command.create, options))
    return { ok: 1 }
  },
}

const drop: Command = {
  options: '',
  async run(context) {
    const { engine } = context
    const { ns, collection } = target(context, 'drop')
    // Parse Server knows this answer by its sentence.
    const nIndexesWas = (collection ?? fail(26, 'ns not found')).indexes.length
    await engine.changeDefinition(ns, (view, collection) => engine.drop(view, collection))
    return { nIndexesWas, ns, ok: 1 }
  },
}

const dropDatabase: Command = {
  options: '',
  async run({ engine, db }) {
    for (const { ns } of engine.catalog.list(db))
      await engine.changeDefinition(ns, (view, collection) => engine.drop(view, collection))
    return { dropped: db, ok: 1 }
  },
}

const renameCollection: Command = {
  options: 'to dropTarget',
  async run({ engine, command }) {
    const { renameCollection: from, to } = command
    if (typeof from !== 'string' || typeof to !== 'string')
      return fail(14, 'renameCollection needs two namespaces')
    const [db, name] = splitNamespace(to)
    if (from === to) fail(20, "Can't rename a collection to itself")
    checkNamespace(db, name)
    engine.catalog.get(from)
    const existing = engine.catalog.find(to)
    if (existing && !truthy(command.dropTarget)) fail(48, 'target namespace exists')
    await engine.changeDefinition(from, (view, collection) => {
      const target = engine.catalog.find(to)
      if (target) {
        engine.transactions.checkUntouched(target)
        engine.drop(view, target)
      }
      engine.catalog.rename(view, collection, db, name)
    })
    return { ok: 1 }
  },
}

const splitNamespace = (ns: string): [db: string, name: string] => {
  const dot = ns.indexOf('.')
  return [ns.slice(0, Math.max(dot, 0)), ns.slice(dot + 1)]
}

const collMod: Command = {
  options: `index validationLevel validationAction cappedSize cappedMax ${refusedOptions}`,
  async run(context) {
    const { engine, command } = context
    checkRefused(command)
    const { ns } = target(context, 'collMod')
    engine.catalog.get(ns)
    if (isNullish(command.index)) return { ok: 1 }
    if (!isObject(command.index))
      return fail(14, "BSON field 'collMod.index' is the wrong type, expected type 'object'")
    const { name, keyPattern, hidden, expireAfterSeconds } = command.index
    if (hidden !== undefined && typeof hidden !== 'boolean' && !isNumeric(hidden))
      fail(14, "BSON field 'collMod.index.hidden' is the wrong type, expected type 'bool'")
    await engine.changeDefinition(ns, (view, collection) => {
      const index =
        findIndex(collection, name ?? keyPattern) ??
        fail(27, `cannot find index ${name ?? JSON.stringify(keyPattern)} for ns ${ns}`)
      if (index.name === '_id_' && truthy(hidden)) fail(2, "can't hide _id index")
      const { hidden: hiddenBefore, ...kept } = index.spec
      const isHidden = hidden === undefined ? hiddenBefore : truthy(hidden)
      const changes = !isNullish(expireAfterSeconds) && { expireAfterSeconds }
      // MongoDB does not keep what says nothing.
      const changed = { ...index, spec: { ...kept, ...changes, ...(isHidden && { hidden: true }) } }
      engine.catalog.setIndexes(
        view,
        collection,
        collection.indexes.map((other) => (other === index ? changed : other)),
      )
    })
    return { ok: 1 }
  },
}

const listCollections: Command = {
  options: 'filter nameOnly authorizedCollections cursor',
  async run({ engine, db, command, pace, owner }) {
    const test = compileFilter(command.filter ?? {})
    const size = batchSizeOf(command.cursor, 'listCollections')
    const described = engine.catalog.list(db).map(describe).filter(test)
    const listed = truthy(command.nameOnly) ? described.map(({ name, type }) => ({ name, type })) : described
    return cursorReply(
      await engine.cursors.start(
        { ns: `${db}.$cmd.listCollections`, documents: listed.map(encode), pace, owner },
        size,
      ),
      'firstBatch',
    )
  },
}

const listDatabases: Command = {
  options: 'filter nameOnly authorizedDatabases',
  run({ engine, command }) {
    const names = [...new Set(engine.catalog.list().map(({ db }) => db))].sort()
    const test = compileFilter(command.filter ?? {})
    // Sizes are not kept.
    const databases = names.map((name) => ({ name, sizeOnDisk: 0, empty: false })).filter(test)
    if (truthy(command.nameOnly)) return { databases: databases.map(({ name }) => ({ name })), ok: 1 }
    return { databases, totalSize: 0, totalSizeMb: 0, ok: 1 }
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
