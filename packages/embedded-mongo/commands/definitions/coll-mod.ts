/** collMod: changes the options of a collection's indexes. */
import { type Document, Long } from 'bson'
import type { Collection } from '../../storage/collections/catalog.ts'
import type { Index } from '../../storage/collections/indexes.ts'
import type { WritableView } from '../../storage/disk/overlay.ts'
import { findOnlyIndex } from '../../storage/queries/planner.ts'
import { isNullish, isTruthy } from '../../values/bson-values.ts'
import { fail } from '../../values/errors.ts'
import { roundToWhole } from '../../values/numbers.ts'
import { checkEach, checkKnown, flag, number, object, text } from '../../values/options/option-types.ts'
import { type Command, targetCollection } from '../context.ts'
import { checkCollectionOptions, refusedOptions, validationOptions } from './collection-options.ts'

const INDEX_OPTIONS = {
  name: text,
  keyPattern: object,
  expireAfterSeconds: number,
  hidden: flag,
  unique: flag,
  prepareUnique: flag,
}

export const collMod: Command = {
  options: `index ${validationOptions} ${refusedOptions}`,
  async run(context) {
    const { engine, command, timer } = context
    checkCollectionOptions(command, 'collMod')
    const { ns } = targetCollection(context, 'collMod')
    engine.catalog.get(ns)
    if (isNullish(command.index)) return { ok: 1 }
    object(command.index, 'collMod.index')
    const requestedChange: Document = command.index
    checkIndexOptions(requestedChange)
    let answer: Document = {}
    const change = (view: WritableView, collection: Collection) => {
      const index =
        findOnlyIndex(collection, requestedChange.name ?? requestedChange.keyPattern) ??
        fail(
          27,
          `cannot find index ${requestedChange.name ?? JSON.stringify(requestedChange.keyPattern)} for ns ${ns}`,
        )
      const expiryChange = expiryChangeOf(index, requestedChange)
      const hiddenChange = hiddenChangeOf(index, requestedChange)
      answer = { ...expiryChange.answer, ...hiddenChange.answer }
      const { hidden: _, ...otherOptions } = index.spec
      index.spec = { ...otherOptions, ...expiryChange.spec, ...hiddenChange.spec }
      engine.catalog.setIndexes(view, collection, [...collection.indexes])
    }
    await engine.changeDefinition(ns, change, { timer })
    return { ...answer, ok: 1 }
  },
}

const checkIndexOptions = (index: Document): void => {
  checkKnown(index, 'collMod.index', Object.keys(INDEX_OPTIONS))
  checkEach(index, 'collMod.index', INDEX_OPTIONS)
  const { name, keyPattern, ...changes } = index
  if (isNullish(name) === isNullish(keyPattern)) fail(72, 'collMod.index needs a name or a keyPattern')
  if (Object.values(changes).every(isNullish)) fail(72, 'collMod.index names no property to change')
  for (const option of ['unique', 'prepareUnique'])
    if (!isNullish(changes[option])) fail(115, `collMod.index.${option} is not supported by this engine`)
}

/** The changed part of a specification, and its part of the answer. */
interface OptionChange {
  spec: Document
  answer: Document
}

const MAX_EXPIRY_S = 2 ** 31 - 1

const expiryChangeOf = ({ name, spec }: Index, { expireAfterSeconds }: Document): OptionChange => {
  if (isNullish(expireAfterSeconds)) return { spec: {}, answer: {} }
  const seconds = Math.min(roundToWhole(expireAfterSeconds) || 0, MAX_EXPIRY_S)
  if (seconds < 0) fail(72, 'expireAfterSeconds cannot be negative')
  if (name === '_id_' || Object.keys(spec.key).length > 1)
    fail(72, 'expireAfterSeconds needs an index of one field other than _id')
  const before = isNullish(spec.expireAfterSeconds)
    ? {}
    : { expireAfterSeconds_old: Long.fromNumber(roundToWhole(spec.expireAfterSeconds)) }
  return {
    spec: { expireAfterSeconds: seconds },
    answer: { ...before, expireAfterSeconds_new: Long.fromNumber(seconds) },
  }
}

const hiddenChangeOf = ({ name, spec }: Index, { hidden }: Document): OptionChange => {
  const before = isTruthy(spec.hidden)
  const after = isNullish(hidden) ? before : isTruthy(hidden)
  if (name === '_id_' && after) fail(2, "can't hide _id index")
  return {
    // MongoDB does not store options that equal their default.
    spec: after ? { hidden: true } : {},
    answer: before === after ? {} : { hidden_old: before, hidden_new: after },
  }
}
