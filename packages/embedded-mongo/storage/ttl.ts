/** Removes expired documents of TTL indexes. */

import { isNullish, toNumber } from '../values/bson-values.ts'
import { PAUSE } from '../values/steps.ts'
import type { Collection } from './collections/catalog.ts'
import type { Index } from './collections/indexes.ts'
import { removeAll } from './collections/records.ts'
import type { Engine } from './engine.ts'
import { findRecords } from './queries/query.ts'

const MAX_DELETED_AT_ONCE = 200

/** Runs every `ttlSleepSeconds`; the returned function stops it. */
export const startTtlMonitor = (engine: Engine): (() => void) => {
  let last = Date.now()
  let running = false
  const timer = setInterval(async () => {
    if (running || Date.now() - last < engine.ttlSleepSeconds * 1000) return
    running = true
    await removeExpired(engine).catch((error) => process.stderr.write(`embedded-mongo: TTL: ${error}\n`))
    last = Date.now()
    running = false
  }, 500)
  return () => clearInterval(timer)
}

const removeExpired = async (engine: Engine): Promise<void> => {
  for (const collection of engine.catalog.list())
    for (const index of collection.indexes)
      if (!isNullish(index.spec.expireAfterSeconds)) await expire(engine, collection, index)
}

const expire = async (engine: Engine, { ns }: Collection, index: Index): Promise<void> => {
  const { expireAfterSeconds, partialFilterExpression = {} } = index.spec
  const before = new Date(Date.now() - toNumber(expireAfterSeconds) * 1000)
  const expired = { [index.fields[0] as string]: { $lt: before } }
  const query = { filter: { $and: [expired, partialFilterExpression] }, limit: MAX_DELETED_AT_ONCE }
  for (let removedCount = MAX_DELETED_AT_ONCE; removedCount === MAX_DELETED_AT_ONCE; )
    removedCount = await engine.write((view) => {
      const collection = engine.catalog.find(ns)
      const matches = collection ? findRecords(view, collection, query) : []
      const expiredRecords = [...matches].filter((match) => match !== PAUSE)
      return collection ? removeAll(view, collection, expiredRecords) : 0
    })
}
