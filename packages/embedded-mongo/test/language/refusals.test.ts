import assert from 'node:assert/strict'
import type { Document } from 'mongodb'
import { engineOfBlock } from '../../testing.ts'

const point = { type: 'Point', coordinates: [1, 2] }
const find = (filter: Document): Document => ({ find: 'things', filter })
const aggregate = (...pipeline: Document[]): Document => ({ aggregate: 'things', pipeline, cursor: {} })
const index = (key: Document, options: Document = {}): Document => ({
  createIndexes: 'things',
  indexes: [{ key, name: 'i', ...options }],
})

/** Unsupported features, the error code of each, and a pattern that its message must match. */
const refusals: [what: string, command: Document, code: number, named: RegExp][] = [
  ['change streams', aggregate({ $changeStream: {} }), 115, /\$changeStream/],
  ['$where', find({ $where: 'true' }), 115, /\$where/],
  ['$function', find({ $expr: { $function: { body: 'x', args: [], lang: 'js' } } }), 115, /\$function/],
  ['$accumulator', aggregate({ $group: { _id: 1, a: { $accumulator: {} } } }), 115, /\$accumulator/],
  ['$text', find({ $text: { $search: 'a' } }), 115, /\$text/],
  ['$near', find({ at: { $near: point } }), 115, /\$near/],
  ['$nearSphere', find({ at: { $nearSphere: point } }), 115, /\$nearSphere/],
  ['$geoWithin', find({ at: { $geoWithin: { $geometry: point } } }), 115, /\$geoWithin/],
  ['$geoIntersects', find({ at: { $geoIntersects: { $geometry: point } } }), 115, /\$geoIntersects/],
  ['$geoNear', aggregate({ $geoNear: {} }), 115, /\$geoNear/],
  ['$jsonSchema', find({ $jsonSchema: {} }), 115, /\$jsonSchema/],
  ['$out', aggregate({ $out: 'x' }), 115, /\$out/],
  ['$merge in a $facet', aggregate({ $facet: { a: [{ $merge: 'x' }] } }), 40600, /\$merge/],
  ['$bucket', aggregate({ $bucket: { groupBy: '$a', boundaries: [1, 2] } }), 115, /\$bucket/],
  ['$setWindowFields', aggregate({ $setWindowFields: {} }), 115, /\$setWindowFields/],
  ['validators', { create: 'v', validator: { a: 1 } }, 115, /validator/],
  ['capped collections', { create: 'v', capped: true, size: 100 }, 115, /capped/],
  ['time series', { create: 'v', timeseries: { timeField: 't' } }, 115, /timeseries/],
  ['views', { create: 'v', viewOn: 'things', pipeline: [] }, 115, /viewOn/],
  [
    'clustered indexes',
    { create: 'v', clusteredIndex: { key: { _id: 1 }, unique: true } },
    115,
    /clusteredIndex/,
  ],
  ['tailable cursors', { find: 'things', tailable: true }, 115, /tailable/],
  ['wildcard indexes', index({ '$**': 1 }), 67, /wildcard/],
  ['text indexes', index({ a: 'text' }), 67, /text/],
  ['geo indexes', index({ a: '2dsphere' }), 67, /2dsphere/],
  ['hashed indexes', index({ a: 'hashed' }), 67, /hashed/],
  ['unknown index options', index({ a: 1 }, { foo: 1 }), 197, /foo/],
  ['snapshot reads', { find: 'things', readConcern: { level: 'snapshot' } }, 246, /snapshot/],
  ['authentication', { saslStart: 1, mechanism: 'SCRAM-SHA-256' }, 115, /authentication/],
  [
    'numeric ordering in a collation',
    { find: 'things', collation: { locale: 'en', numericOrdering: true } },
    115,
    /numericOrdering/,
  ],
  ['an unknown locale', { find: 'things', collation: { locale: 'xx_nope!' } }, 2, /locale/],
]

describe('refusals', () => {
  const engine = engineOfBlock()
  before(async () => {
    await engine.db.collection('things').insertOne({ a: 1 })
  })

  for (const [what, command, code, messagePattern] of refusals)
    it(`refuses ${what} with code ${code} and a message`, async () => {
      await assert.rejects(engine.db.command(command), (error: Document) => {
        assert.equal(error.code, code, error.message)
        assert.match(error.message, messagePattern)
        return true
      })
    })

  it('refuses a change stream from the driver', async () => {
    const stream = engine.db.collection('things').watch()
    await assert.rejects(stream.next(), { code: 115 })
    await stream.close()
  })
})
