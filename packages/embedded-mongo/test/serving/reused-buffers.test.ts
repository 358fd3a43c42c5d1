import assert from 'node:assert/strict'
import { encode } from '../../values/bson-values.ts'
import { DocumentArray, releaseBuffer } from '../../values/raw-documents.ts'

describe('a released buffer', () => {
  const arrayOf = (text: string): Buffer => {
    const documents = new DocumentArray()
    documents.append(encode({ text }))
    return documents.within(Buffer.alloc(0))
  }

  it('is not reused if its memory belongs to others, as that of the pool of Node 24', () => {
    const pool = Buffer.alloc(2 ** 16, 1)
    releaseBuffer(pool.subarray(100, 200))
    arrayOf('overwrites')
    assert.ok(pool.every((byte) => byte === 1))
  })

  it('is reused if an array of documents made it', () => {
    const { buffer } = arrayOf('first')
    releaseBuffer(Buffer.from(buffer))
    assert.equal(arrayOf('second').buffer, buffer)
  })
})
